import { ShoalError } from '../../errors.js';
import type { JobRecord } from '../job.js';

/** The last job of a page: the next one begins after it, even when it is gone by then. */
export interface Cursor {
  readonly createdAt: string;
  readonly id: string;
}

export function cursorAfter({ createdAt, id }: JobRecord): string {
  return Buffer.from(`${String(createdAt)} ${id}`).toString('base64url');
}

/** @throws `invalid_request` for anything that `cursorAfter` did not write */
export function parseCursor(text: string): Cursor {
  const match = /^(-?\d+(?:\.\d+)?) (\S+)$/.exec(Buffer.from(text, 'base64url').toString());
  if (match === null) {
    throw new ShoalError('invalid_request', 'The cursor is not one that this server gave.');
  }
  return { createdAt: match[1] as string, id: match[2] as string };
}
