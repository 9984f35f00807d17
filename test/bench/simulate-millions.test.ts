import { describe, expect, it } from 'vitest';
import { Clock } from '../../bench/simulate/clock.js';
import { Device } from '../../bench/simulate/device.js';
import { Engine } from '../../bench/simulate/engine.js';
import { capacity, type Profile } from '../../bench/simulate/profile.js';
import { exponential, type Random, seeded } from '../../bench/simulate/random.js';
import type { Item, World } from '../../bench/simulate/rule.js';
import { type BatchDecision, decideBatch } from '../../src/engine-process/policy.js';

const SEEDS = 85;
const ITEMS = 15_000;
const MODES = ['adaptive', 'adaptive', 'adaptive', 'fixed', 'off'] as const;

interface Fate {
  readonly item: Item;
  /** Interactive items before it when it came, each of which may have had a batch of its own. */
  readonly ahead: number;
  readonly batchesBefore: number;
  firstHeldAt: number | undefined;
  state: 'waiting' | 'running' | 'answered' | 'dropped';
}

/** Not `expect`: it is called some ten million times. */
function check(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}

function pick<T>(random: Random, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T;
}

function anyProfile(random: Random): Profile {
  const scale = 0.5 + 20 * random();
  // From a flat curve, where a batch costs nothing, to a line, where it saves nothing.
  const slope = pick(random, [0, 0.05, 0.3, 1]);
  const curve = [1, 2, 4, 8, 16].map((batch) => ({ batch, ms: scale * (1 + slope * (batch - 1)) }));
  const wideCurve = [{ batch: 1, ms: scale * (0.4 + 0.5 * random()) }];
  return {
    name: 'any',
    about: '',
    sessions: 1 + Math.floor(random() * 4),
    maxBatch: 1 + Math.floor(random() * 16),
    curve,
    ...(random() < 0.5 && { wideCurve }),
    perItemMs: pick(random, [0, 0.2 * scale]),
    aloneSpeed: pick(random, [1, 1.5]),
  };
}

/** What happened, so that the checks are known to have had something to check. */
interface Seen {
  /** Arrivals, departures, waits and batches. */
  steps: number;
  waits: number;
  wide: number;
  dropped: number;
  background: number;
}

/** Drives the engine with one random set-up and checks every step. */
function drive(seed: number, seen: Seen): void {
  const random = seeded(seed);
  const profile = anyProfile(random);
  const clock = new Clock();
  const device = new Device(clock, profile);
  const mode = pick(random, MODES);
  const windowMs = pick(random, [0, 3, 10, 25]);
  const fates = new Map<Item, Fate>();
  /** Interactive items that wait, in order. */
  const line = new Set<Fate>();
  let batches = 0;
  let created = 0;
  let last: BatchDecision = { kind: 'nothing' };

  const leave = (item: Item, state: 'answered' | 'dropped'): void => {
    (fates.get(item) as Fate).state = state;
    fates.delete(item);
  };
  const world: World = {
    profile,
    clock,
    random,
    get idleSessions() {
      return device.idleSessions;
    },
    firstIdle: () => device.firstIdle(),
    isIdle: (session) => device.isIdle(session),
    run(session, batch, done) {
      check(batch.length >= 1 && batch.length <= profile.maxBatch, 'a batch of the wrong size');
      const isInteractive = batch.some(({ isBackground }) => !isBackground);
      check(isInteractive || line.size === 0, 'background items went first');
      if (session === 'wide') check(batch.length === 1 && isInteractive, 'wide for several');
      if (session === 'wide') seen.wide++;
      if (isInteractive) batches++;
      else seen.background++;
      for (const item of batch) {
        const fate = fates.get(item);
        check(fate?.state === 'waiting', 'an item that does not wait was run');
        check(item.deadline > clock.now, 'an item was run after its deadline');
        check(item.cancelledAt > clock.now, 'an item was run after its client had left');
        if (fate === undefined) continue;
        fate.state = 'running';
        if (item.isBackground) continue;
        check(line.values().next().value === fate, 'an item overtook another');
        check(batches - fate.batchesBefore <= fate.ahead + 1, 'an item was starved');
        line.delete(fate);
      }
      const finish = (tookMs: number): void => {
        seen.steps++;
        for (const item of batch) leave(item, 'answered');
        done(tookMs);
      };
      if (session === 'wide') device.runWide(batch.length, finish);
      else device.run(session, batch.length, finish);
    },
    drop(item) {
      const fate = fates.get(item) as Fate;
      check(fate.state === 'waiting', 'an item was dropped that does not wait');
      const isUnwanted = item.deadline <= clock.now || item.cancelledAt <= clock.now;
      check(isUnwanted || item.arrivedAt === clock.now, 'an item was dropped for no reason');
      line.delete(fate);
      if (isUnwanted) seen.dropped++;
      leave(item, 'dropped');
    },
  };

  const engine = new Engine(world, {
    mode,
    windowMs,
    maxWaitMs: 100 / capacity(profile),
    decide(view, rules) {
      last = decideBatch(view, rules);
      check(device.idleSessions > 0 || last.kind === 'nothing', 'decided without a session');
      if (last.kind !== 'wait') return last;
      seen.steps++;
      check(last.forMs > 0, 'a wait of no length');
      if (mode === 'adaptive') seen.waits++;
      for (const fate of line) {
        fate.firstHeldAt ??= clock.now;
        const since = mode === 'fixed' ? fate.item.arrivedAt : fate.firstHeldAt;
        const untilMs = clock.now + last.forMs - since;
        // Only the oldest decides in a fixed window, and the others are younger.
        check(untilMs <= windowMs + 1e-6, 'an item was held back beyond the window');
      }
      return last;
    },
  });

  const arrive = (): void => {
    seen.steps++;
    const now = clock.now;
    const isPatient = random() < 0.5;
    const item: Item = {
      id: created++,
      arrivedAt: now,
      deadline: isPatient ? Infinity : now + exponential(random, 100),
      isBackground: random() < 0.2,
      cancelledAt: random() < 0.1 ? now + exponential(random, 30) : Infinity,
    };
    const [ahead, batchesBefore] = [line.size, batches];
    const fate: Fate = { item, ahead, batchesBefore, firstHeldAt: undefined, state: 'waiting' };
    fates.set(item, fate);
    if (!item.isBackground) line.add(fate);
    if (item.cancelledAt < Infinity) {
      clock.after(item.cancelledAt - now, () => {
        seen.steps++;
        engine.cancel();
      });
    }
    engine.arrive(item);
    const isIdle = device.idleSessions > 0 && line.size > 0;
    // With less than half a batch it is not worth while to slow another one down.
    const isUsed = profile.aloneSpeed !== 1 && device.idleSessions < profile.sessions;
    const isTooFew = mode === 'adaptive' && isUsed && line.size < profile.maxBatch / 2;
    check(!isIdle || last.kind === 'wait' || isTooFew, 'an item waits beside an idle session');
  };
  const share = pick(random, [0.2, 0.5, 0.8, 0.95, 1.3]);
  const burst = pick(random, [1, 1, 4, 16]);
  const come = (): void => {
    if (created >= ITEMS) return;
    for (let count = 0; count < burst; count++) arrive();
    clock.after(exponential(random, burst / (share * capacity(profile))), come);
  };
  come();
  clock.run();
  check(fates.size === 0 && line.size === 0, 'an item was forgotten');
}

describe('two million steps', () => {
  it('starve nobody, run nothing twice or too late, and respect maximum and window', () => {
    const seen: Seen = { steps: 0, waits: 0, wide: 0, dropped: 0, background: 0 };
    for (let seed = 1; seed <= SEEDS; seed++) drive(seed, seen);

    expect(seen.steps).toBeGreaterThan(2_000_000);
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(1000);
  }, 60_000);
});
