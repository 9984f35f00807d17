import loadWabt from 'wabt';
import { format } from 'prettier';

/** A TypeScript file with the module in it, so that it needs no reading at run time. */
export async function assemble(text: string): Promise<string> {
  const wabt = await loadWabt();
  const { buffer } = wabt.parseWat('bilinear.wat', text, { simd: true }).toBinary({});
  const base64 = Buffer.from(buffer).toString('base64');
  const lines = base64.match(/.{1,90}/g) ?? [];
  const parts = lines.map((line) => `'${line}'`).join(' + ');
  return format(
    `/** \`tools/wasm/bilinear.wat\`, assembled by \`npm run wasm\`. */\nexport const BILINEAR_MODULE = ${parts};\n`,
    { parser: 'typescript', singleQuote: true, printWidth: 100 },
  );
}
