import { ShoalError } from '../errors.js';

const MAX_FIELD_BYTES = 4096;
const MAX_PART_HEADER_BYTES = 8 * 1024;
/** RFC 2046. Longer ones have been used to make parsers slow. */
const MAX_BOUNDARY_LENGTH = 70;

export interface Part {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * Splits `multipart/form-data` into its parts. The body is in memory and bounded, so the parts are
 * views of it and nothing is copied or written to disk.
 */
export function parseMultipart(body: Buffer, boundary: string, maxParts: number): Part[] {
  if (boundary === '' || boundary.length > MAX_BOUNDARY_LENGTH) {
    throw problem('The content type has no usable boundary.');
  }
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const between = Buffer.concat([Buffer.from('\r\n'), delimiter]);
  const parts: Part[] = [];

  let at = body.indexOf(delimiter);
  if (at < 0) throw problem('The boundary does not occur in the body.');
  at += delimiter.length;
  while (body.toString('latin1', at, at + 2) !== '--') {
    if (body.toString('latin1', at, at + 2) !== '\r\n')
      throw problem('A boundary is not followed by a line end.');
    const headersEnd = body.subarray(at, at + MAX_PART_HEADER_BYTES).indexOf('\r\n\r\n');
    if (headersEnd < 0) throw problem('The headers of a part do not end.');
    const name = partName(body.toString('utf8', at + 2, at + headersEnd + 2));
    const start = at + headersEnd + 4;
    const end = body.indexOf(between, start);
    if (end < 0) throw problem('A part does not end: the body is cut off.');
    if (parts.length === maxParts) throw problem('There are too many parts.');
    parts.push({ name, bytes: body.subarray(start, end) });
    at = end + between.length;
  }
  return parts;
}

/** The text of parts that are no files, by name. */
export function textFields(parts: readonly Part[]): Record<string, string> {
  const fields = new Map<string, string>();
  for (const { name, bytes } of parts) {
    if (fields.has(name)) throw problem('A field is given twice.');
    fields.set(name, bytes.toString('utf8', 0, MAX_FIELD_BYTES));
  }
  return Object.fromEntries(fields);
}

function partName(headers: string): string {
  const disposition = /^content-disposition: *form-data *(;.*)$/im.exec(headers)?.[1];
  if (disposition === undefined) throw problem('A part has no Content-Disposition of form-data.');
  // Quoted values are skipped whole, so that a file name cannot pose as a parameter.
  for (const [, key, quoted, plain] of disposition.matchAll(
    /; *([\w*-]{1,32}) *= *(?:"((?:[^"\\]|\\.)*)"|([^\s;]*))/g,
  )) {
    if (key?.toLowerCase() === 'name') return quoted ?? plain ?? '';
  }
  throw problem('A part has no name.');
}

function problem(detail: string): ShoalError {
  return new ShoalError('invalid_multipart', detail);
}
