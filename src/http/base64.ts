import { ShoalError } from '../errors.js';
import { takeImageBuffer } from './image-pool.js';

/** Base64 digits per step. Strings of this size stay in V8's young generation; one string for a
 * whole photo costs ten times as much. A multiple of four. */
const STEP = 32_768;
const DATA_URL = /^data:image\/(jpeg|jpg|png|webp);base64$/i;
const MAX_DATA_URL_PREFIX = 64;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * Decodes base64 (RFC 4648, padded) that lies in `text`, with or without a `data:` prefix.
 * Node's own decoder skips whatever it does not like, so that garbage decodes to other garbage;
 * here every character counts, and the answer says which one is wrong.
 */
export function decodeBase64(text: Buffer, maxBytes: number): Buffer {
  const digits = withoutDataUrlPrefix(withoutEscapes(text));
  if (digits.length === 0) throw new ShoalError('empty_body', '"image_b64" is empty.');
  if ((digits.length / 4) * 3 - 2 > maxBytes) {
    throw new ShoalError('body_too_large', `An image may have at most ${String(maxBytes)} bytes.`);
  }
  // Node reads the URL-safe alphabet as well; two alphabets for one thing are one too many.
  if (digits.length % 4 !== 0 || digits.includes('-') || digits.includes('_')) {
    throw firstProblem(digits);
  }

  const padding = digits.at(-1) !== PAD ? 0 : digits.at(-2) !== PAD ? 1 : 2;
  const out = takeImageBuffer((digits.length / 4) * 3 - padding);
  let filled = 0;
  for (let at = 0; at < digits.length; at += STEP) {
    const end = Math.min(at + STEP, digits.length);
    const expected = end === digits.length ? out.length - filled : (STEP / 4) * 3;
    // A skipped character shows as a byte that is missing.
    const written = out.write(digits.toString('latin1', at, end), filled, 'base64');
    if (written !== expected) throw firstProblem(digits);
    filled += written;
  }
  if (hasStrayBits(digits, padding)) {
    throw new ShoalError('invalid_base64', 'The last character of the base64 has stray bits.');
  }
  return out;
}

const PAD = '='.charCodeAt(0);
const BACKSLASH = '\\'.charCodeAt(0);
const SLASH = '/'.charCodeAt(0);

/** Some JSON writers escape slashes (`\/`), which is legal and the only escape that makes sense. */
function withoutEscapes(text: Buffer): Buffer {
  if (!text.includes(BACKSLASH)) return text;
  const plain = Buffer.allocUnsafeSlow(text.length);
  let filled = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === BACKSLASH && text[at + 1] === SLASH) at++;
    plain[filled++] = text[at] as number;
  }
  return plain.subarray(0, filled);
}

function withoutDataUrlPrefix(text: Buffer): Buffer {
  const start = text.toString('latin1', 0, MAX_DATA_URL_PREFIX);
  if (!start.startsWith('data:')) return text;
  const comma = start.indexOf(',');
  if (comma < 0 || !DATA_URL.test(start.slice(0, comma))) {
    throw new ShoalError(
      'invalid_base64',
      'A data: URL must begin with data:image/jpeg;base64, (or png, or webp).',
    );
  }
  return text.subarray(comma + 1);
}

/** Bits of the last digit that belong to no byte must be zero, or two texts mean one image. */
function hasStrayBits(digits: Buffer, padding: number): boolean {
  if (padding === 0) return false;
  const last = String.fromCharCode(digits[digits.length - 1 - padding] ?? 0);
  return (DIGITS.indexOf(last) & (padding === 1 ? 0b11 : 0b1111)) !== 0;
}

const IS_DIGIT = Array.from({ length: 256 }, (_, byte) =>
  DIGITS.includes(String.fromCharCode(byte)),
);

function firstProblem(digits: Buffer): ShoalError {
  // Byte by byte: a string of many megabytes would keep the event loop busy.
  const at = digits.findIndex((byte) => !IS_DIGIT[byte]);
  const found = at < 0 ? undefined : String.fromCharCode(digits[at] as number);
  const rest = digits.toString('latin1', Math.max(0, at), at + 4);
  const place = `at position ${String(at)}`;
  let detail: string;
  if (found === undefined || (found === '=' && /^={1,2}$/.test(rest))) {
    detail =
      'The length is not a multiple of four: the text is cut off or its "=" padding is missing.';
  } else if (/\s|\\/.test(found)) {
    detail = `There is white space or an escape ${place}; send the base64 as one line (base64 < FILE | tr -d '\\n').`;
  } else if (found === '-' || found === '_') {
    detail = `This is the URL-safe alphabet ("${found}" ${place}); use "+" and "/".`;
  } else if (found === '=') {
    detail = `There is padding in the middle, ${place}.`;
  } else {
    detail = `There is a character that is not base64 ${place}.`;
  }
  return new ShoalError('invalid_base64', detail);
}
