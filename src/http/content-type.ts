import { ShoalError } from '../errors.js';

/** The ways to send an image. */
export type BodyForm =
  | { readonly kind: 'json' }
  | { readonly kind: 'image' }
  | { readonly kind: 'multipart'; readonly boundary: string };

const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})\\s*(;.*)?$`);

/** Decides from the header alone how the body is read; anything unclear is refused. */
export function parseContentType(header: string | undefined): BodyForm {
  const [, type = '', parameters = ''] = MEDIA_TYPE.exec(header?.trim() ?? '') ?? [];
  switch (type.toLowerCase()) {
    case 'application/json':
      return { kind: 'json' };
    case 'multipart/form-data':
      return { kind: 'multipart', boundary: boundaryOf(parameters) };
    case 'application/octet-stream':
      return { kind: 'image' };
    case 'application/x-www-form-urlencoded':
      throw unsupported(
        'application/x-www-form-urlencoded is what curl says when it is not told: for JSON add ' +
          '-H "Content-Type: application/json", for a file use -F image=@photo.jpg.',
      );
    default:
      if (/^image\//i.test(type)) return { kind: 'image' };
      throw unsupported(
        'Send application/json, image/…, application/octet-stream or multipart/form-data.',
      );
  }
}

function boundaryOf(parameters: string): string {
  const match = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(parameters);
  return match?.[1] ?? match?.[2] ?? '';
}

function unsupported(detail: string): ShoalError {
  return new ShoalError('unsupported_content_type', detail);
}
