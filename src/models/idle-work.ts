import type { Log } from '../telemetry/log.js';
import type { ServedModel } from './served-model.js';

const CHECK_MS = 1000;
/** This many checks in a row without a request make an idle moment. */
const QUIET_CHECKS = 3;
/** The machine is this much slower or faster than the profile says… */
const DRIFTED = 1.5;
/** …for this many checks: it has changed for good, not for a moment. */
const DRIFTED_CHECKS = 60;

/** `renew` is `refine` for a machine that is no longer what it was. */
type Todo = 'refine' | 'renew' | 'verify' | 'nothing';

/**
 * Measures models in moments without traffic, one at a time: again when they were measured in a
 * hurry or the machine has changed, and for a short look when the profile came from the cache.
 * The engines that measure give way to everything, and the first request ends them.
 */
export class IdleWork {
  readonly #models: readonly ServedModel[];
  readonly #log: Log;
  readonly #todo = new Map<ServedModel, Todo>();
  readonly #drifted = new Map<ServedModel, number>();
  #running: AbortController | undefined;
  #quiet = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(models: readonly ServedModel[], log: Log) {
    this.#models = models;
    this.#log = log;
  }

  start(): void {
    for (const model of this.#models) {
      model.gate.onBusy = () => {
        this.#quiet = 0;
        this.#running?.abort();
      };
      const { profile } = model;
      if (profile === undefined) continue;
      this.#todo.set(model, profile.depth === 'quick' ? 'refine' : 'verify');
    }
    if (this.#todo.size === 0) return;
    this.#timer = setInterval(() => {
      this.#check();
    }, CHECK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#running?.abort();
  }

  #check(): void {
    for (const model of this.#models) this.#watchDrift(model);
    // There is no memory, and probes hold some.
    if (this.#models.some(({ gate }) => gate.isClosed)) {
      this.#quiet = 0;
      this.#running?.abort();
      return;
    }
    const isQuiet = this.#models.every(({ gate }) => gate.inFlight + gate.waiting === 0);
    this.#quiet = isQuiet ? this.#quiet + 1 : 0;
    if (this.#quiet < QUIET_CHECKS || this.#running !== undefined) return;
    const next = this.#models.find((model) => (this.#todo.get(model) ?? 'nothing') !== 'nothing');
    if (next === undefined || !hasMemoryFor(next)) return;
    const controller = new AbortController();
    this.#running = controller;
    this.#work(next, controller.signal)
      .catch((error: unknown) => {
        this.#todo.set(next, 'nothing');
        this.#log.warn({ model: next.name, err: error }, 'could not measure');
      })
      .finally(() => {
        this.#running = undefined;
      });
  }

  async #work(model: ServedModel, signal: AbortSignal): Promise<void> {
    const { profile, plan, calibration } = model;
    if (profile === undefined) return;
    if (this.#todo.get(model) === 'verify') {
      const isStale = await calibration.isStale(profile, plan, signal);
      // Interrupted: later. Not measured: it stays as it is.
      if (isStale === undefined) {
        if (!signal.aborted) this.#todo.set(model, 'nothing');
        return;
      }
      this.#todo.set(model, isStale ? 'renew' : 'nothing');
      if (isStale) this.#log.warn({ model: model.name }, STALE);
      return;
    }
    const before = this.#todo.get(model) === 'refine' ? profile : undefined;
    const better = await calibration.refine(before, signal);
    if (better === undefined) return;
    this.#todo.set(model, 'nothing');
    model.replan(better);
  }

  #watchDrift(model: ServedModel): void {
    const { drift } = model.engine.vitals;
    const isOff = drift > DRIFTED || drift < 1 / DRIFTED;
    const checks = isOff ? (this.#drifted.get(model) ?? 0) + 1 : 0;
    this.#drifted.set(model, checks);
    if (checks !== DRIFTED_CHECKS) return;
    this.#todo.set(model, 'renew');
    this.#log.warn(
      { model: model.name, drift },
      'the machine has changed, measuring again when idle',
    );
  }
}

const STALE = 'batches take another time than measured before, measuring again when idle';

/** Another engine of this model must fit beside the one that serves. */
function hasMemoryFor({ engine }: ServedModel): boolean {
  return process.availableMemory() > 2 * engine.vitals.rssBytes;
}
