import type { ErrorCode } from '../../errors.js';
import type { StoreLimits } from '../job-store.js';
import type { Change } from './job-table.js';
import type { OperationName } from './operations.js';

/** What the store's thread is started with. */
export interface ThreadConfig {
  readonly folder: string;
  readonly limits: StoreLimits;
  /** Whether what was running is lost; not so when only the thread is a new one. */
  readonly isFirst: boolean;
}

export interface StoreRequest {
  readonly seq: number;
  readonly operation: OperationName;
  readonly values: readonly unknown[];
}

/** Instead of a request: close the database and end. */
export const END = 'end';

export type StoreMessage =
  | { readonly kind: 'open' }
  /** It never will be. */
  | { readonly kind: 'closed'; readonly isBusy: boolean; readonly message: string }
  | { readonly kind: 'answer'; readonly seq: number; readonly value: unknown }
  | {
      readonly kind: 'error';
      readonly seq: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly cause: string;
      readonly retryAfterSeconds: number | undefined;
    }
  | { readonly kind: 'changes'; readonly changes: readonly Change[] }
  /** The disk fails. What it holds is known only after opening it again, on another thread. */
  | { readonly kind: 'broken'; readonly cause: string };
