/** The little of an answer's head that a load generator needs. */
export interface ResponseHead {
  readonly status: number;
  /** `undefined`: not declared, so the body is chunked or ends with the connection. */
  readonly contentLength: number | undefined;
  readonly isChunked: boolean;
  readonly isLast: boolean;
  /** Only the form in seconds; a date counts as none. */
  readonly retryAfterSeconds: number | undefined;
  /** How long the server says it keeps the connection when idle. */
  readonly keepAliveSeconds: number | undefined;
}

const STATUS_LINE = /^HTTP\/1\.([01]) (\d{3})/;

/** Reads a head, without the empty line that ends it; `undefined` when it is not HTTP/1. */
export function parseHead(text: string): ResponseHead | undefined {
  const [, minor, code] = STATUS_LINE.exec(text) ?? [];
  if (code === undefined) return undefined;
  const status = Number(code);
  const connection = /\r\nconnection:[ \t]*([^\r]*)/i.exec(text)?.[1]?.toLowerCase() ?? '';
  const hasNoBody = status < 200 || status === 204 || status === 304;
  return {
    status,
    contentLength: hasNoBody ? 0 : numberIn(text, /\r\ncontent-length:[ \t]*(\d+)/i),
    isChunked: !hasNoBody && /\r\ntransfer-encoding:[^\r]*chunked/i.test(text),
    isLast: minor === '0' ? !connection.includes('keep-alive') : connection.includes('close'),
    retryAfterSeconds: numberIn(text, /\r\nretry-after:[ \t]*(\d+(?:\.\d+)?)[ \t]*(?=\r|$)/i),
    keepAliveSeconds: numberIn(text, /\r\nkeep-alive:[^\r]*timeout=(\d+)/i),
  };
}

function numberIn(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}
