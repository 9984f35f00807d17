import { randomBytes } from 'node:crypto';
import { ShoalError } from '../errors.js';

/** What may stand in the body besides the image. */
const MAX_REST_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
const KEY = Buffer.from('"image_b64"');
const LIST_KEY = Buffer.from('"images_b64"');
/** Stands for the image while the rest is parsed. Unguessable, so nobody can send it. */
const PLACEHOLDER = randomBytes(16).toString('hex');
const [QUOTE, COLON, BACKSLASH, COMMA, OPEN, CLOSE] = [0x22, 0x3a, 0x5c, 0x2c, 0x5b, 0x5d];

export interface JsonBody {
  /** The body without the image. */
  readonly rest: Readonly<Record<string, unknown>>;
  /** The characters between the quotes of `image_b64`, still in the request's memory. */
  readonly image: Buffer | undefined;
}

export interface JsonListBody {
  readonly rest: Readonly<Record<string, unknown>>;
  readonly images: readonly Buffer[];
}

/** A part of the body, as places in it. */
interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * The same for `{"images_b64": ["…", …], …}`.
 * `undefined` without such a list.
 * @param maxImages beyond this it is not read on: every entry costs memory, even an empty one
 */
export function parseJsonListBody(body: Buffer, maxImages: number): JsonListBody | undefined {
  const found = findImages(body, maxImages);
  if (found === undefined) return undefined;
  const others = without(body, found.list, 'images_b64', `"${PLACEHOLDER}"`);
  return { rest: others, images: found.images.map(({ start, end }) => body.subarray(start, end)) };
}

/**
 * Parses `{"image_b64": "…", …}` without turning the image into a string: its text is cut out of
 * the bytes first, and only the small rest goes through the JSON parser.
 */
export function parseJsonBody(body: Buffer): JsonBody {
  const range = findImage(body);
  if (range === undefined) return { rest: parseSmall(body), image: undefined };
  const others = without(body, range, 'image_b64', PLACEHOLDER);
  return { rest: others, image: body.subarray(range.start, range.end) };
}

/** The body as an object, without what lies in `range`, which must be the value of `key`. */
function without(
  body: Buffer,
  { start, end }: Range,
  key: string,
  instead: string,
): Record<string, unknown> {
  const value = parseSmall(
    Buffer.concat([body.subarray(0, start), Buffer.from(instead), body.subarray(end)]),
  );
  if (value[key] !== PLACEHOLDER) {
    throw new ShoalError(
      'invalid_request',
      `"${key}" must stand once, in the outermost object of the body.`,
    );
  }
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
}

/** Where the value of the first `"image_b64"` lies, if that is a string. */
function findImage(body: Buffer): Range | undefined {
  const at = valueOf(body, KEY);
  return at === undefined ? undefined : findString(body, at);
}

/** Where the first `"images_b64"` and its entries lie, if that is a list of strings. */
function findImages(body: Buffer, maxImages: number): { list: Range; images: Range[] } | undefined {
  const start = valueOf(body, LIST_KEY);
  if (start === undefined || body[start] !== OPEN) return undefined;
  const images: Range[] = [];
  let at = skipSpace(body, start + 1);
  while (body[at] !== CLOSE) {
    const image = findString(body, at);
    if (image === undefined) return undefined;
    images.push(image);
    if (images.length > maxImages) {
      throw new ShoalError('body_too_large', `There may be at most ${String(maxImages)} images.`);
    }
    at = skipSpace(body, image.end + 1);
    if (body[at] === CLOSE) break;
    if (body[at] !== COMMA) return undefined;
    at = skipSpace(body, at + 1);
    // One comma too many.
    if (body[at] === CLOSE) return undefined;
  }
  return { list: { start, end: at + 1 }, images };
}

/** Where the value of the first such key begins. */
function valueOf(body: Buffer, key: Buffer): number | undefined {
  const at = body.indexOf(key);
  const colon = skipSpace(body, at + key.length);
  return at < 0 || body[colon] !== COLON ? undefined : skipSpace(body, colon + 1);
}

/** What lies between the quotes of a string that begins at `at`. */
function findString(body: Buffer, at: number): Range | undefined {
  const end = body.indexOf(QUOTE, at + 1);
  // An escaped quote is no base64; the JSON parser shall say what it is.
  if (body[at] !== QUOTE || end < 0 || body[end - 1] === BACKSLASH) return undefined;
  return { start: at + 1, end };
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
