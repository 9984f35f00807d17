import type { BatchingMode } from '../../src/engine/messages.js';
import {
  type BatchDecision,
  type BatchRules,
  type BatchView,
  decideBatch,
} from '../../src/engine-process/policy.js';
import { openingsOf } from '../../src/engine-process/openings.js';
import { Traffic } from '../../src/engine-process/traffic.js';
import { Fifo } from './fifo.js';
import { capacity } from './profile.js';
import type { Item, Server, World } from './rule.js';

export interface EngineOptions {
  readonly mode: BatchingMode;
  readonly windowMs: number;
  /** An item that would have to wait longer than this is refused at the door. */
  readonly maxWaitMs: number;
  readonly decide?: (view: BatchView, rules: BatchRules) => BatchDecision;
}

type RunDecision = Extract<BatchDecision, { kind: 'run' }>;

/**
 * This server: the same policy and the same bookkeeping as in the engine, fed at the same moments.
 * Left out: messages between threads, lanes that decode ahead while a batch is held back, and
 * batches that are staged behind others.
 */
export class Engine implements Server {
  readonly #world: World;
  readonly #options: EngineOptions;
  readonly #rules: BatchRules;
  readonly #traffic = new Traffic();
  readonly #interactive = new Fifo<Item>();
  readonly #background = new Fifo<Item>();
  readonly #heldSince = new WeakMap<Item, number>();
  /** Whether the policy sees all sessions as one, since they are on one device. */
  readonly #areOne: boolean;
  #size = 0;
  #interactiveSize = 0;
  #stopWaiting: (() => void) | undefined;

  constructor(world: World, options: EngineOptions) {
    this.#world = world;
    this.#options = options;
    const { sessions, maxBatch, curve, wideCurve } = world.profile;
    const { mode, windowMs } = options;
    this.#areOne = world.profile.aloneSpeed !== 1 && mode === 'adaptive';
    const limits = { mode, sessions: this.#areOne ? 1 : sessions, maxBatch, windowMs };
    this.#rules = { ...limits, curve, ...(wideCurve && { wideCurve }) };
  }

  arrive(item: Item): void {
    const { clock, profile } = this.#world;
    if (this.#size / capacity(profile) > this.#options.maxWaitMs) {
      this.#world.drop(item);
      return;
    }
    if (!item.isBackground) this.#traffic.arrived(clock.now, this.#interactiveSize++);
    this.#size++;
    (item.isBackground ? this.#background : this.#interactive).push(item);
    this.#assignWork();
  }

  /** A client has left. */
  cancel(): void {
    this.#assignWork();
  }

  #assignWork(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    // With nobody free there is nothing to decide; what is unwanted leaves before the next batch.
    if (this.#world.idleSessions === 0) return;
    this.#dropUnwanted(this.#interactive);
    this.#dropUnwanted(this.#background);
    for (;;) {
      const decision = (this.#options.decide ?? decideBatch)(this.#view(), this.#rules);
      if (decision.kind === 'run') this.#run(decision);
      if (decision.kind === 'wait') {
        this.#markHeld();
        this.#stopWaiting = this.#world.clock.after(decision.forMs, () => {
          this.#assignWork();
        });
      }
      if (decision.kind !== 'run') return;
    }
  }

  #markHeld(): void {
    const { now } = this.#world.clock;
    for (const item of this.#interactive) {
      if (!this.#heldSince.has(item)) this.#heldSince.set(item, now);
    }
  }

  #view(): BatchView {
    const { now } = this.#world.clock;
    const oldest = this.#interactive.at(0);
    let slackMs = Number.POSITIVE_INFINITY;
    for (const { deadline } of this.#interactive) slackMs = Math.min(slackMs, deadline - now);
    const sessions = Array.from({ length: this.#world.profile.sessions }, (_, session) => ({
      isIdle: this.#world.isIdle(session),
      canStage: false,
    }));
    const { idle, joinable } = openingsOf(sessions, this.#areOne);
    return {
      waiting: this.#interactive.length,
      background: this.#background.length,
      oldestMs: now - (oldest?.arrivedAt ?? now),
      slackMs,
      idleSessions: idle.length,
      joinable: joinable.length,
      arrivalsPerMs: this.#traffic.arrivalsPerMs(now),
      company: this.#traffic.company,
      drift: this.#traffic.drift,
      perItemMs: this.#traffic.perItemMs,
      heldMs: oldest === undefined ? 0 : now - (this.#heldSince.get(oldest) ?? now),
      forecast: this.#traffic.forecast(now, this.#rules.windowMs),
    };
  }

  #run({ session, size, extra }: RunDecision): void {
    const { profile } = this.#world;
    const batch = [...this.#interactive.take(size), ...this.#background.take(extra)];
    const lane = session === 'wide' ? 'wide' : (this.#world.firstIdle() as number);
    const isComparable = session === 'narrow' && (!this.#areOne || this.#world.idleSessions === 1);
    this.#world.run(lane, batch, (tookMs) => {
      for (const item of batch) this.#forget(item);
      this.#traffic.answered(this.#world.clock.now);
      if (isComparable) {
        const inferMs = tookMs - batch.length * profile.perItemMs;
        this.#traffic.ran(profile.curve, batch.length, inferMs, profile.perItemMs);
      }
      this.#assignWork();
    });
  }

  #forget(item: Item): void {
    this.#size--;
    if (!item.isBackground) this.#interactiveSize--;
  }

  #dropUnwanted(queue: Fifo<Item>): void {
    const { now } = this.#world.clock;
    let isAny = false;
    for (const { deadline, cancelledAt } of queue) {
      if (deadline <= now || cancelledAt <= now) isAny = true;
    }
    if (!isAny) return;
    queue.keep((item) => {
      const isWanted = item.deadline > now && item.cancelledAt > now;
      if (!isWanted) {
        this.#forget(item);
        this.#world.drop(item);
      }
      return isWanted;
    });
  }
}
