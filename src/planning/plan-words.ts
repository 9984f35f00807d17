/** What plans for the CPU and for GPUs have in common. */
import type { ModelSettings } from '../config/schema.js';

/** A request may find a batch running and then needs its own: the target must hold both. */
const BATCHES_PER_ANSWER = 2;

/** A target that nothing meets is met as nearly as possible. */
export function inTime<T extends { readonly ms: number }>(all: T[], targetMs: number): T[] {
  if (targetMs <= 0) return all;
  const kept = all.filter(({ ms: batchMs }) => batchMs * BATCHES_PER_ANSWER <= targetMs);
  const fastest = Math.min(...all.map(({ ms: batchMs }) => batchMs));
  return kept.length > 0 ? kept : all.filter(({ ms: batchMs }) => batchMs === fastest);
}

export function targetWarning({ slo_p99_ms: targetMs }: ModelSettings, batchMs: number): string[] {
  if (targetMs <= 0 || batchMs * BATCHES_PER_ANSWER <= targetMs) return [];
  return [
    `slo_p99_ms ${String(targetMs)} cannot be kept under load: a batch takes about ${ms(batchMs)}`,
  ];
}

export function byHand(settings: ModelSettings): string[] {
  const keys = ['sessions', 'threads', 'max_batch', 'max_concurrent'] as const;
  return keys.filter((key) => settings[key] !== 'auto');
}

export function perSecond(rate: number): string {
  return `${rate.toFixed(rate < 10 ? 1 : 0)} images/s`;
}

export function ms(value: number): string {
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}
