import { ShoalError } from '../errors.js';

/** It never will fit, so nobody is told to come back. */
export function tooLargeForStore(): ShoalError {
  return new ShoalError('body_too_large', 'The job is larger than all jobs together may be.');
}
