import { expect } from 'vitest';
import { type ErrorCode, ShoalError } from '../../src/errors.js';

/** The call must throw a ShoalError with this code. Returns its detail. */
export function expectCode(code: ErrorCode, call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(ShoalError);
    expect((error as ShoalError).code).toBe(code);
    return (error as ShoalError).message;
  }
  throw new Error(`nothing was thrown, expected ${code}`);
}

/** The same for a promise. */
export async function expectRejection(code: ErrorCode, promise: Promise<unknown>): Promise<string> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ShoalError);
  expect((error as ShoalError).code).toBe(code);
  return (error as ShoalError).message;
}
