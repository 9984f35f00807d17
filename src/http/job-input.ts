import { webcrypto } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ShoalError } from '../errors.js';
import { decodeBase64 } from './base64.js';
import type { BodyForm } from './content-type.js';
import { fieldChecker, numbersFromText } from './fields.js';
import { parseJsonBody, parseJsonListBody } from './json-body.js';
import { parseMultipart, textFields } from './multipart.js';
import { JobOptions } from './schemas.js';

export interface JobInputLimits {
  readonly maxImageBytes: number;
  readonly maxImages: number;
  readonly maxBytes: number;
}

export interface JobInput {
  readonly images: readonly Buffer[];
  readonly options: JobOptions;
}

const ENVELOPE_BYTES = 64 * 1024;
/** What a part of a form or an entry of a list takes besides its bytes. */
const PER_IMAGE_BYTES = 1024;
/** Everything else a form may hold. */
const OTHER_PARTS = 16;

/** The largest body that can hold the largest job. */
export function maxJobBodyBytes(form: BodyForm, limits: JobInputLimits): number {
  const envelope = ENVELOPE_BYTES + limits.maxImages * PER_IMAGE_BYTES;
  switch (form.kind) {
    case 'json':
      return Math.ceil(limits.maxBytes / 3) * 4 + envelope;
    case 'multipart':
      return limits.maxBytes + envelope;
    case 'image':
      return limits.maxImageBytes;
  }
}

/** Brings the three forms of a job into one, and checks that one. */
export async function readJobInput(
  form: BodyForm,
  body: readonly Buffer[],
  query: Readonly<Record<string, unknown>>,
  limits: JobInputLimits,
): Promise<JobInput> {
  if (body.length === 0) throw new ShoalError('empty_body', 'The request has no body.');
  const { images, fields } = await readForm(form, body, limits);
  checkSizes(images, limits);
  const options = { ...checkOptions(numbersFromText(query)), ...checkOptions(fields) };
  return { images, options };
}

async function readForm(
  form: BodyForm,
  body: readonly Buffer[],
  limits: JobInputLimits,
): Promise<{ images: readonly Buffer[]; fields: Readonly<Record<string, unknown>> }> {
  switch (form.kind) {
    case 'image':
      return { images: [Buffer.concat(body)], fields: {} };
    case 'json':
      return readJson(Buffer.concat(body), limits);
    case 'multipart': {
      const parts = parseMultipart(
        Buffer.concat(body),
        form.boundary,
        limits.maxImages + OTHER_PARTS,
      );
      const images = parts.filter(({ name }) => name === 'image');
      if (images.length === 0) {
        throw new ShoalError('invalid_request', 'The form has no file field "image".');
      }
      const fields = textFields(parts.filter(({ name }) => name !== 'image'));
      return { images: images.map(({ bytes }) => bytes), fields: numbersFromText(fields) };
    }
  }
}

async function readJson(
  body: Buffer,
  limits: JobInputLimits,
): Promise<{ images: readonly Buffer[]; fields: Readonly<Record<string, unknown>> }> {
  const { rest, texts } = parseListOrOne(body, limits.maxImages);
  if (texts === undefined) {
    const others = Object.entries(rest).filter(([key]) => !/^images?_b64$/.test(key));
    checkOptions(Object.fromEntries(others));
    throw new ShoalError(
      'invalid_request',
      'Give "image_b64" (a string of base64) or "images_b64" (a list of them).',
    );
  }
  const images: Buffer[] = [];
  for (const text of texts) {
    // Decoding many of them at a stretch would keep everybody else waiting.
    if (images.length > 0) await nextTurn();
    images.push(decodeBase64(text, limits.maxImageBytes));
  }
  return { images, fields: rest };
}

function parseListOrOne(
  body: Buffer,
  maxImages: number,
): { rest: Readonly<Record<string, unknown>>; texts: readonly Buffer[] | undefined } {
  const list = parseJsonListBody(body, maxImages);
  if (list !== undefined) {
    if (!('image_b64' in list.rest)) return { rest: list.rest, texts: list.images };
    throw new ShoalError('invalid_request', 'Give "image_b64" or "images_b64", not both.');
  }
  const { rest, image } = parseJsonBody(body);
  return { rest, texts: image === undefined ? undefined : [image] };
}

function checkSizes(images: readonly Buffer[], limits: JobInputLimits): void {
  if (images.length === 0) throw new ShoalError('empty_body', 'The list of images is empty.');
  if (images.length > limits.maxImages) throw tooMany(limits);
  const largest = Math.max(...images.map((image) => image.length));
  if (largest > limits.maxImageBytes) {
    throw new ShoalError(
      'body_too_large',
      `An image may have at most ${String(limits.maxImageBytes)} bytes.`,
    );
  }
  if (images.reduce((sum, image) => sum + image.length, 0) > limits.maxBytes) {
    throw new ShoalError(
      'body_too_large',
      `The images of a job may have at most ${String(limits.maxBytes)} bytes together.`,
    );
  }
}

function tooMany({ maxImages }: JobInputLimits): ShoalError {
  return new ShoalError('body_too_large', `A job may have at most ${String(maxImages)} images.`);
}

const checkOptions = fieldChecker(
  JobOptions,
  'Besides the images ("image_b64" or "images_b64" in JSON, "image" in a form) there are "model", ' +
    '"confidence_threshold", "priority", "expires_in" and "webhook_url".',
);

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export function readIdempotencyKey(sent: string | string[] | undefined): string | undefined {
  if (sent === undefined) return undefined;
  if (typeof sent === 'string' && IDEMPOTENCY_KEY.test(sent)) return sent;
  throw new ShoalError('invalid_request', 'Idempotency-Key must be 1 to 255 visible characters.');
}

/** The same for two jobs that are the same thing. Computed off the event loop. */
export async function fingerprintOf({ images, options }: JobInput): Promise<string> {
  const digests = await Promise.all(
    [Buffer.from(JSON.stringify(Object.entries(options).sort())), ...images].map((bytes) =>
      webcrypto.subtle.digest('SHA-256', bytes),
    ),
  );
  const all = Buffer.concat(digests.map((digest) => Buffer.from(digest)));
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', all)).toString('hex');
}
