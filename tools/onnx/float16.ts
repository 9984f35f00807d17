const MAX_HALF = 65_504;
const MIN_NORMAL_EXPONENT = -14;
const MANTISSA_BITS = 10;
const BIAS = 15;

/** The bits of the nearest 16-bit floating-point number; of two that are equally near, the even. */
export function halfBits(value: number): number {
  const size = Math.abs(value);
  if (!(size <= MAX_HALF)) throw new Error(`${String(value)} does not fit into 16 bits`);
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const exponent = Math.max(exponentOf(size), MIN_NORMAL_EXPONENT);
  // Scaling by a power of two is exact, so this rounds once.
  const mantissa = roundToEven(size * 2 ** (MANTISSA_BITS - exponent));
  const isSubnormal = mantissa < 2 ** MANTISSA_BITS;
  // A mantissa that rounds up to the next power of two carries into the exponent by addition.
  const bits = isSubnormal
    ? mantissa
    : ((exponent + BIAS) << MANTISSA_BITS) + mantissa - 2 ** MANTISSA_BITS;
  return sign | bits;
}

export function halvesOf(values: ArrayLike<number>): Uint16Array {
  return Uint16Array.from(values, halfBits);
}

function exponentOf(size: number): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, size);
  return ((bits.getUint16(0) >> 4) & 0x7ff) - 1023;
}

function roundToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}
