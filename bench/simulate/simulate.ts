import { Clock } from './clock.js';
import { Device } from './device.js';
import type { Pattern } from './patterns.js';
import type { Profile } from './profile.js';
import { exponential, type Random, seeded } from './random.js';
import type { Item, Rule, World } from './rule.js';
import { type Outcome, Tally } from './tally.js';

export interface Scenario {
  readonly profile: Profile;
  readonly pattern: Pattern;
  /** How many items come (of a closed loop: are answered). */
  readonly count: number;
  readonly seed: number;
}

/** When every client gives up. */
const DEADLINE_MS = 1000;
/** What comes first is not counted: everyone has to learn, and queues have to fill. */
const WARM_UP = 0.1;

/** Plays one scenario with one rule. The same input gives the same outcome. */
export function simulate({ profile, pattern, count, seed }: Scenario, rule: Rule): Outcome {
  const clock = new Clock();
  const tally = new Tally();
  const random = seeded(seed);
  /** What the client does when it has its answer. */
  const next = new Map<Item, () => void>();
  const leave = (item: Item): void => {
    next.get(item)?.();
    next.delete(item);
  };
  const server = rule.create(
    worldOf(profile, clock, seeded(seed + 1), {
      ran(batch, tookMs) {
        tally.ran(batch, clock.now, tookMs);
        batch.forEach(leave);
      },
      dropped(item) {
        tally.dropped(item, clock.now);
        leave(item);
      },
    }),
  );
  let created = 0;
  const arrive = (onAnswer?: () => void): void => {
    const arrivedAt = clock.now;
    const deadline = arrivedAt + DEADLINE_MS;
    const item = { id: created++, arrivedAt, deadline, isBackground: false, cancelledAt: Infinity };
    if (onAnswer !== undefined) next.set(item, onAnswer);
    tally.arrived(item);
    server.arrive(item);
  };

  const load = pattern.load(profile, count, random);
  if (load.kind === 'open') {
    const { times } = load;
    const come = (index: number): void => {
      const at = times[index];
      if (at === undefined) return;
      clock.after(at - clock.now, () => {
        arrive();
        come(index + 1);
      });
    };
    come(0);
    const endMs = times.at(-1) ?? 0;
    tally.count(endMs * WARM_UP, endMs);
    clock.run(endMs + DEADLINE_MS);
    return tally.outcome();
  }
  const ask = (): void => {
    clock.after(exponential(random, load.thinkMs), () => {
      if (created < count) arrive(ask);
    });
  };
  for (let client = 0; client < load.clients; client++) ask();
  tally.count(0, Infinity);
  clock.run();
  tally.count(0, clock.now);
  return tally.outcome();
}

interface Listener {
  ran(batch: readonly Item[], tookMs: number): void;
  dropped(item: Item): void;
}

function worldOf(profile: Profile, clock: Clock, random: Random, listener: Listener): World {
  const device = new Device(clock, profile);
  return {
    profile,
    clock,
    random,
    get idleSessions() {
      return device.idleSessions;
    },
    firstIdle: () => device.firstIdle(),
    isIdle: (session) => device.isIdle(session),
    run(session, batch, done) {
      const finish = (tookMs: number): void => {
        listener.ran(batch, tookMs);
        done(tookMs);
      };
      if (session === 'wide') device.runWide(batch.length, finish);
      else device.run(session, batch.length, finish);
    },
    drop(item) {
      listener.dropped(item);
    },
  };
}
