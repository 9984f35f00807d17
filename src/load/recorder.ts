import { isOk, isRefusal, type Outcome } from './attempt.js';
import type { LoadRun, Progress, SecondResult } from './load-result.js';
import { percentileOf, summarize } from './summary.js';

type RetryCount = 'honoured' | 'admitted' | 'refusedAgain' | 'gaveUp' | 'failed' | 'pending';

/** Counts what happens in a run. Times are ms since its start. */
export class Recorder {
  readonly #cpu = process.cpuUsage();
  readonly #okMs: number[] = [];
  readonly #okAtMs: number[] = [];
  readonly #refusalMs: number[] = [];
  readonly #latenessMs: number[] = [];
  readonly #retryMs: number[] = [];
  readonly #retryAtMs: number[] = [];
  readonly #statuses: Record<string, number> = {};
  readonly #errors: Record<string, number> = {};
  readonly #retries: Record<RetryCount, number> = {
    honoured: 0,
    admitted: 0,
    refusedAgain: 0,
    gaveUp: 0,
    failed: 0,
    pending: 0,
  };
  readonly #perSecond: Record<keyof SecondResult, number>[] = [];
  #unsent = 0;
  #gaveUp = 0;

  unsent(): void {
    this.#unsent++;
  }

  sent(latenessMs: number): void {
    this.#latenessMs.push(latenessMs);
  }

  ended(outcome: Outcome, latencyMs: number, atMs: number): void {
    this.#countSecond(outcome, atMs);
    if (outcome.kind === 'gaveUp') {
      this.#gaveUp++;
    } else if (outcome.kind === 'error') {
      this.#errors[outcome.code] = (this.#errors[outcome.code] ?? 0) + 1;
    } else {
      const { status } = outcome.head;
      this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
      if (isRefusal(outcome)) this.#refusalMs.push(latencyMs);
      if (!isOk(outcome)) return;
      this.#okMs.push(latencyMs);
      this.#okAtMs.push(atMs);
    }
  }

  countRetry(what: RetryCount): void {
    this.#retries[what]++;
  }

  retryEnded(outcome: Outcome, latencyMs: number, atMs: number): void {
    this.#countSecond(outcome, atMs);
    if (isOk(outcome)) {
      this.countRetry('admitted');
      this.#retryMs.push(latencyMs);
      this.#retryAtMs.push(atMs);
    } else if (isRefusal(outcome)) this.countRetry('refusedAgain');
    else this.countRetry(outcome.kind === 'gaveUp' ? 'gaveUp' : 'failed');
  }

  progress(atMs: number): Progress {
    return {
      seconds: atMs / 1000,
      sent: this.#latenessMs.length,
      ok: this.#okMs.length + this.#retryMs.length,
      refused: this.#refusalMs.length,
      gaveUp: this.#gaveUp,
    };
  }

  finish(seconds: number, elapsedSeconds: number): LoadRun {
    const sent = this.#latenessMs.length;
    const { user, system } = process.cpuUsage(this.#cpu);
    const { honoured, pending } = this.#retries;
    const isInTime = (atMs: number): boolean => atMs <= seconds * 1000;
    const inTime = this.#okAtMs.filter(isInTime).length + this.#retryAtMs.filter(isInTime).length;
    const result = {
      seconds,
      elapsedSeconds,
      offered: sent + this.#unsent,
      offeredPerSecond: perSecond(sent + this.#unsent, seconds),
      sent,
      unsent: this.#unsent,
      statuses: this.#statuses,
      ok: this.#okMs.length,
      refused: this.#refusalMs.length,
      gaveUp: this.#gaveUp,
      errors: this.#errors,
      goodput: perSecond(inTime, seconds),
      latencyMs: summarize(this.#okMs),
      refusalMs: summarize(this.#refusalMs),
      retries: { ...this.#retries, latencyMs: summarize(this.#retryMs) },
      latenessP99Ms: sent === 0 ? 0 : percentileOf(Float64Array.from(this.#latenessMs).sort(), 99),
      cpuMsPerRequest: (user + system) / 1000 / Math.max(1, sent + honoured - pending),
      perSecond: this.#perSecond,
    };
    return {
      result,
      okMs: Float64Array.from(this.#okMs),
      okAtMs: Float64Array.from(this.#okAtMs),
      refusalMs: Float64Array.from(this.#refusalMs),
    };
  }

  #countSecond(outcome: Outcome, atMs: number): void {
    const second = Math.max(0, Math.floor(atMs / 1000));
    while (this.#perSecond.length <= second) this.#perSecond.push({ ok: 0, refused: 0, gaveUp: 0 });
    const bucket = this.#perSecond[second] as Record<keyof SecondResult, number>;
    if (isOk(outcome)) bucket.ok++;
    else if (isRefusal(outcome)) bucket.refused++;
    else if (outcome.kind === 'gaveUp') bucket.gaveUp++;
  }
}

function perSecond(count: number, seconds: number): number {
  return seconds > 0 ? count / seconds : 0;
}
