import { readFileSync } from 'node:fs';
import { type Curve, latencyMs } from '../../src/planning/curve.js';

/** What a device was measured to do. */
export interface Profile {
  readonly name: string;
  readonly about: string;
  readonly sessions: number;
  readonly maxBatch: number;
  /** Inference by batch size while all sessions are busy. */
  readonly curve: Curve;
  /** The same of a session that has all cores for itself, where there is one. */
  readonly wideCurve?: Curve;
  /** What the session spends per item besides inference: decoding, where it does that itself. */
  readonly perItemMs: number;
  /** How many times faster a session is while the others are idle. */
  readonly aloneSpeed: number;
}

export function loadProfile(name: string): Profile {
  const url = new URL(`profiles/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as Profile;
}

/** How long a batch keeps a session busy while the others are busy, too. */
export function batchMs(profile: Profile, size: number, curve: Curve = profile.curve): number {
  return latencyMs(curve, size) + size * profile.perItemMs;
}

/** Items per millisecond with full batches on all sessions. */
export function capacity(profile: Profile): number {
  return (profile.sessions * profile.maxBatch) / batchMs(profile, profile.maxBatch);
}
