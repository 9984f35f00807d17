/**
 * The few protobuf wire types that an ONNX file needs. Fields are written in the order of the
 * calls, so the same calls always give the same bytes.
 */
export class Message {
  readonly #parts: Uint8Array[] = [];

  /** Field types 0: int32, int64, enum and bool. */
  varint(field: number, value: number | bigint): this {
    return this.#tag(field, 0).#push(encodeVarint(BigInt(value)));
  }

  float(field: number, value: number): this {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setFloat32(0, value, true);
    return this.#tag(field, 5).#push(bytes);
  }

  string(field: number, value: string): this {
    return this.bytes(field, new TextEncoder().encode(value));
  }

  bytes(field: number, value: Uint8Array): this {
    return this.#tag(field, 2)
      .#push(encodeVarint(BigInt(value.length)))
      .#push(value);
  }

  message(field: number, value: Message): this {
    return this.bytes(field, value.finish());
  }

  finish(): Uint8Array {
    return Buffer.concat(this.#parts);
  }

  #tag(field: number, wireType: number): this {
    return this.#push(encodeVarint(BigInt(field * 8 + wireType)));
  }

  #push(part: Uint8Array): this {
    this.#parts.push(part);
    return this;
  }
}

function encodeVarint(value: bigint): Uint8Array {
  let rest = BigInt.asUintN(64, value);
  const bytes: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Uint8Array.from(bytes);
}
