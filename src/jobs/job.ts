import { randomBytes } from 'node:crypto';
import type { ErrorCode } from '../errors.js';
import type { Detection } from '../heads/detection.js';

/** Where a job can be. The last four are final: whatever reaches one stays there. */
export const JOB_STATES = [
  'queued',
  'running',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const;
export type JobState = (typeof JOB_STATES)[number];

export const FINAL_STATES = ['completed', 'failed', 'cancelled', 'expired'] as const;
export type FinalState = (typeof FINAL_STATES)[number];

export function isFinal(state: JobState): state is FinalState {
  return (FINAL_STATES as readonly JobState[]).includes(state);
}

/** Among the jobs of one model, higher ones run first; equal ones in the order they came. */
export const JOB_PRIORITIES = ['high', 'normal', 'low'] as const;
export type JobPriority = (typeof JOB_PRIORITIES)[number];

export interface JobProblem {
  readonly code: ErrorCode;
  readonly detail: string;
}

/** What became of one image of a job. */
export type ImageResult =
  | { readonly detections: readonly Detection[]; readonly inference_ms: number }
  | { readonly problem: JobProblem };

/** What a job is from the moment it is submitted. Times are milliseconds since 1970. */
export interface JobSpec {
  readonly id: string;
  /** Whose it is; nobody else learns that it exists. */
  readonly owner: string;
  readonly model: string;
  readonly priority: JobPriority;
  readonly threshold: number;
  readonly imageCount: number;
  readonly imageBytes: number;
  readonly webhookUrl?: string;
  readonly createdAt: number;
  /** If it is not finished by then, it never will be. */
  readonly expiresAt: number;
}

export interface WebhookStatus {
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  /** Why the last attempt failed; never what the receiver said. */
  readonly reason?: string;
}

export interface JobRecord extends JobSpec {
  readonly state: JobState;
  /** Grows with every change, so that a reader knows what it has seen. */
  readonly version: number;
  /** How often it failed and the job itself may be why. */
  readonly tries: number;
  /** How often whoever ran it disappeared. */
  readonly losses: number;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** Images that are done. */
  readonly done: number;
  /** Why it failed; on a queued job, why it is tried again. */
  readonly problem?: JobProblem;
  readonly webhook?: WebhookStatus;
  /** How many jobs of its model are before it. Only of a queued job that was asked for by id. */
  readonly position?: number;
  /** One per image. Only of a finished job that was asked for by id. */
  readonly results?: readonly ImageResult[];
}

/** What nobody can guess: 144 random bits. */
export function newJobId(): string {
  return `job_${randomBytes(18).toString('base64url')}`;
}

export const JOB_ID = /^job_[\w-]{24}$/;
