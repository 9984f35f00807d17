export type Form = 'json' | 'raw';

export interface RequestShape {
  readonly host: string;
  readonly path: string;
  readonly form: Form;
  readonly apiKey?: string | undefined;
}

/** The bytes of a request, built once and sent many times; only the id in the head differs. */
export class PreparedRequest {
  readonly #head: string;
  readonly body: Buffer;

  constructor(image: Buffer, { host, path, form, apiKey }: RequestShape) {
    this.body =
      form === 'raw' ? image : Buffer.from(`{"image_b64":"${image.toString('base64')}"}`, 'latin1');
    const type = form === 'raw' ? 'application/octet-stream' : 'application/json';
    const key = apiKey === undefined ? '' : `X-API-Key: ${apiKey}\r\n`;
    this.#head =
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\n${key}Content-Type: ${type}\r\n` +
      `Content-Length: ${String(this.body.length)}\r\nX-Request-Id: `;
  }

  head(id: string): Buffer {
    return Buffer.from(`${this.#head}${id}\r\n\r\n`, 'latin1');
  }
}
