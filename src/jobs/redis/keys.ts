import { createHash } from 'node:crypto';

/** Names of keys that are built here; the scripts build the others in the same way. */
export const keys = {
  image: (prefix: string, id: string, n: number): string => `${prefix}:image:${id}:${String(n)}`,
  idempotency: (prefix: string, owner: string, key: string): string =>
    `${prefix}:idem:${digest(`${String(owner.length)}:${owner}${key}`)}`,
  waiting: (prefix: string, model: string): string => `${prefix}:waiting:${model}`,
  changes: (prefix: string): string => `${prefix}:changes`,
  bull: (prefix: string): string => `${prefix}:bull`,
};

/** Owners are not readable in the names of keys. */
export function ownerKey(owner: string): string {
  return digest(owner);
}

/** BullMQ allows no colons in the names of queues. */
export function queueOf(model: string): string {
  return encodeURIComponent(model);
}

export const WEBHOOK_QUEUE = 'webhooks';

export function jobQueue(queue: string): string {
  return `jobs-${queue}`;
}

/** What BullMQ knows a job by: the number changes when it is queued in another life. */
export interface Ticket {
  readonly id: string;
  readonly number: string;
}

export function ticketId({ id, number }: Ticket): string {
  return `${id}~${number}`;
}

export function parseTicket(text: string): Ticket {
  const at = text.lastIndexOf('~');
  return { id: text.slice(0, at), number: text.slice(at + 1) };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
