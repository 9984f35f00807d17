import { randomBytes } from 'node:crypto';
import { ShoalError } from '../errors.js';

/** What may stand in the body besides the image. */
const MAX_REST_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
const KEY = Buffer.from('"image_b64"');
/** Stands for the image while the rest is parsed. Unguessable, so nobody can send it. */
const PLACEHOLDER = randomBytes(16).toString('hex');
const [QUOTE, COLON, BACKSLASH] = [0x22, 0x3a, 0x5c];

export interface JsonBody {
  /** The body without the image. */
  readonly rest: Readonly<Record<string, unknown>>;
  /** The characters between the quotes of `image_b64`, still in the request's memory. */
  readonly image: Buffer | undefined;
}

/**
 * Parses `{"image_b64": "…", …}` without turning the image into a string: its text is cut out of
 * the bytes first, and only the small rest goes through the JSON parser.
 */
export function parseJsonBody(body: Buffer): JsonBody {
  const range = findImage(body);
  const rest =
    range === undefined
      ? body
      : Buffer.concat([
          body.subarray(0, range.start),
          Buffer.from(PLACEHOLDER),
          body.subarray(range.end),
        ]);
  const value = parseSmall(rest);
  if (range === undefined) return { rest: value, image: undefined };
  const { image_b64: found, ...others } = value;
  if (found !== PLACEHOLDER) {
    throw new ShoalError(
      'invalid_request',
      '"image_b64" must stand once, in the outermost object of the body.',
    );
  }
  return { rest: others, image: body.subarray(range.start, range.end) };
}

/** Where the value of the first `"image_b64"` lies, if that is a string. */
function findImage(body: Buffer): { start: number; end: number } | undefined {
  const key = body.indexOf(KEY);
  if (key < 0) return undefined;
  const colon = skipSpace(body, key + KEY.length);
  const quote = skipSpace(body, colon + 1);
  if (body[colon] !== COLON || body[quote] !== QUOTE) return undefined;
  const end = body.indexOf(QUOTE, quote + 1);
  // An escaped quote is no base64; the JSON parser shall say what it is.
  if (end < 0 || body[end - 1] === BACKSLASH) return undefined;
  return { start: quote + 1, end };
}

function skipSpace(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++;
  return at;
}

function parseSmall(bytes: Buffer): Record<string, unknown> {
  if (bytes.length > MAX_REST_BYTES) {
    throw new ShoalError(
      'invalid_json',
      `Besides the text of "image_b64" the body may have at most ${String(MAX_REST_BYTES)} bytes.`,
    );
  }
  checkDepth(bytes);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ShoalError('invalid_json', 'The body cannot be parsed as JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ShoalError('invalid_request', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

/** Nesting costs the parser time and the stack, and nothing here is nested. */
function checkDepth(bytes: Buffer): void {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (byte === 0x5b || byte === 0x7b) depth++;
    else if (byte === 0x5d || byte === 0x7d) depth--;
    if (depth > MAX_DEPTH) throw new ShoalError('invalid_json', 'The JSON is nested too deeply.');
  }
}
