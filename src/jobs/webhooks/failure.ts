/** Why an attempt failed. A closed list: nothing that the receiver said gets any further. */
export type FailureReason =
  /** It took longer than `webhook_timeout_ms`. */
  | 'timeout'
  /** The name leads only to addresses that webhooks may not go to. */
  | 'refused_address'
  /** The name leads nowhere. */
  | 'dns'
  | 'connection'
  /** No secure connection, or a certificate that is not to be trusted. */
  | 'tls'
  /** What came back is not HTTP, or has headers without end. */
  | 'response'
  /** Nothing is configured to sign it with any more. */
  | 'no_secret'
  | 'internal'
  /** Anything but 2xx; redirects are not followed. */
  | `status_${string}`;

export class Failure extends Error {
  override readonly name = 'Failure';
  readonly reason: FailureReason;

  constructor(reason: FailureReason, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}
