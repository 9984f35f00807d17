/** How long a call of the API may take; it rejects within a second whatever happens. */
export const CALL_MS = 800;
/** A call that comes just after the connection broke waits this long for the next one. */
export const BLIP_MS = 400;
/** Pause before what Redis could not do is tried again. */
export const INSIST_MS = 300;
/** Connecting, logging in and the first answer. */
export const HANDSHAKE_MS = 1000;
/** Pauses between attempts to connect. */
export const RECONNECT_MS = { first: 50, most: 500 };
/** Quiet connections are tried this often, and dropped when there is no answer. */
export const PING_EVERY_MS = 1000;
export const PING_MS = 1500;
/** What is allowed for images, beside `CALL_MS`: 10 MB/s. */
export const BYTES_PER_MS = 10_000;
/** How long the first connection may take. */
export const OPEN_MS = 3000;
/** How long the end may take when Redis does not answer. */
export const CLOSE_MS = 2000;
export const SWEEP_EVERY_MS = 500;
/** How often a ticket that is known to be there is looked at again. */
export const AUDIT_MS = 30_000;
/** A worker that takes nothing for this long although jobs wait is replaced. */
export const STUCK_MS = 4000;
