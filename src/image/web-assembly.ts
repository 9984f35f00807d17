/** What is used of WebAssembly: Node.js has it, but its typings leave it to those of browsers. */
export interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface WebAssemblyApi {
  readonly Memory: new (size: { initial: number }) => Memory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Readonly<Record<string, unknown>> };
}

export const { WebAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };
