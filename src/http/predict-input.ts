import { ShoalError } from '../errors.js';
import { joinForNow } from '../image/join-for-now.js';
import { decodeBase64 } from './base64.js';
import type { BodyForm } from './content-type.js';
import { fieldChecker, numbersFromText } from './fields.js';
import { takeImageBuffer } from './image-pool.js';
import { parseJsonBody } from './json-body.js';
import { parseMultipart, textFields } from './multipart.js';
import { DEFAULT_THRESHOLD, PredictOptions } from './schemas.js';

export interface PredictInput {
  /** The image file, in one or more pieces. */
  readonly image: readonly Buffer[];
  readonly threshold: number;
}

/** Besides the image, a body holds boundaries, part headers or JSON. */
const ENVELOPE_BYTES = 64 * 1024;
/** A form for one image has two parts; the rest is room for what browsers add. */
const MAX_PARTS = 8;

/** The largest body that can hold the largest image. */
export function maxBodyBytes(form: BodyForm, maxImageBytes: number): number {
  switch (form.kind) {
    case 'json':
      return Math.ceil(maxImageBytes / 3) * 4 + ENVELOPE_BYTES;
    case 'multipart':
      return maxImageBytes + ENVELOPE_BYTES;
    case 'image':
      return maxImageBytes;
  }
}

/** Brings the three forms of a predict request into one, and checks that one. */
export function readPredictInput(
  form: BodyForm,
  body: readonly Buffer[],
  query: Readonly<Record<string, unknown>>,
  maxImageBytes: number,
): PredictInput {
  if (body.length === 0) throw new ShoalError('empty_body', 'The request has no body.');
  const { image, options } = readForm(form, body, maxImageBytes);
  const threshold =
    checkOptions(options).confidence_threshold ??
    checkOptions(numbersFromText(query)).confidence_threshold ??
    DEFAULT_THRESHOLD;
  return { image, threshold };
}

function readForm(
  form: BodyForm,
  body: readonly Buffer[],
  maxImageBytes: number,
): { image: readonly Buffer[]; options: Readonly<Record<string, unknown>> } {
  switch (form.kind) {
    case 'image':
      return { image: body, options: {} };
    case 'json': {
      const { rest, image } = parseJsonBody(joinForNow(body));
      if (image === undefined) {
        const others = Object.entries(rest).filter(([key]) => key !== 'image_b64');
        checkOptions(Object.fromEntries(others));
        throw new ShoalError('invalid_request', '"image_b64" must be a string of base64.');
      }
      return { image: [decodeBase64(image, maxImageBytes)], options: rest };
    }
    case 'multipart': {
      const parts = parseMultipart(joinForNow(body), form.boundary, MAX_PARTS);
      const [image, ...more] = parts.filter(({ name }) => name === 'image');
      if (image === undefined) {
        throw new ShoalError('invalid_request', 'The form has no file field "image".');
      }
      if (more.length > 0) {
        throw new ShoalError('invalid_multipart', 'One image at a time; POST /jobs takes several.');
      }
      const fields = textFields(parts.filter((part) => part !== image));
      const kept = takeImageBuffer(image.bytes.length);
      image.bytes.copy(kept);
      return { image: [kept], options: numbersFromText(fields) };
    }
  }
}

const checkOptions = fieldChecker(
  PredictOptions,
  'Besides the image ("image_b64" in JSON, "image" in a form) there is "confidence_threshold".',
);
