import { ShoalError } from '../../errors.js';

export function unavailable(cause?: unknown): ShoalError {
  return new ShoalError('store_unavailable', 'The job store cannot be reached; try again.', {
    retryAfterSeconds: 1,
    ...(cause !== undefined && { cause }),
  });
}

export function storeFull(cause?: unknown): ShoalError {
  return new ShoalError(
    'store_full',
    'The job store has no room for this job beside those that are not finished.',
    { retryAfterSeconds: 5, ...(cause !== undefined && { cause }) },
  );
}

/** What clients are told when Redis says no, or nothing. */
export function toStoreError(error: unknown): ShoalError {
  if (error instanceof ShoalError) return error;
  // Redis refuses what needs memory when it has none left.
  if (error instanceof Error && /^(?:ERR )?.{0,40}\bOOM\b/.test(error.message)) {
    return storeFull(error);
  }
  return unavailable(error);
}

/** Redis itself had no memory left; when only our own limit is reached, there is no cause. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof ShoalError && error.code === 'store_full' && error.cause !== undefined;
}

/** Redis says that it cannot do it now: it loads, is full, has no disk, or is being replaced. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /^(?:LOADING|OOM|MISCONF|MASTERDOWN|NOREPLICAS|READONLY|BUSY|TRYAGAIN)\b/.test(
    error.message,
  );
}

/** Why a connection failed, for people. Addresses are in it, a password never. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code } = error as { code?: unknown };
  const text = typeof code === 'string' ? code : error.message;
  // A name with several addresses fails with a list and no text of its own.
  return text === '' ? error.name : text;
}
