import { capacity, type Profile } from './profile.js';
import { exponential, type Random } from './random.js';

/** Who asks, and when. */
export type Load =
  /** Clients that come whatever the server does. */
  | { readonly kind: 'open'; readonly times: readonly number[] }
  /** Clients that ask again a while after each answer. */
  | { readonly kind: 'closed'; readonly clients: number; readonly thinkMs: number };

export interface Pattern {
  readonly name: string;
  readonly about: string;
  load(profile: Profile, count: number, random: Random): Load;
}

const BURST = 16;
/** Between those of a burst: they cannot all be read at the same instant. */
const BURST_GAP_MS = 0.1;
/** Rates of the day: from the smallest to the largest share of the capacity. */
const NIGHT = 0.1;
const DAY = 0.95;

/** Independent clients at a constant rate. */
export function poisson(name: string, share: number): Pattern {
  return {
    name,
    about: `independent clients, ${String(share * 100)} % of the capacity`,
    load: (profile, count, random) =>
      fromGaps(count, () => exponential(random, 1 / (share * capacity(profile)))),
  };
}

/** One after the other at nearly the same distance, as frames of a camera. */
export function regular(name: string, gapMs: number, jitter: number): Pattern {
  return {
    name,
    about: `one every ${String(gapMs)} ms ± ${String(jitter * 100)} %`,
    load: (_, count, random) => fromGaps(count, () => gapMs * (1 + jitter * (2 * random() - 1))),
  };
}

/** A fixed number of clients that wait for their answer. */
export function closedLoop(name: string, clients: number, thinkMs: number): Pattern {
  const who = clients === 1 ? 'one client that asks' : `${String(clients)} clients that ask`;
  return {
    name,
    about: `${who} again about ${String(thinkMs)} ms after each answer`,
    load: () => ({ kind: 'closed', clients, thinkMs }),
  };
}

const bursty: Pattern = {
  name: 'bursty',
  about: `${String(BURST)} within about 1.5 ms, then nothing for a while; 40 % of the capacity`,
  load(profile, count, random) {
    const meanGapMs = BURST / (0.4 * capacity(profile));
    return fromGaps(count, (index) =>
      index % BURST === 0 ? meanGapMs * (0.5 + random()) : exponential(random, BURST_GAP_MS),
    );
  },
};

const diurnal: Pattern = {
  name: 'diurnal',
  about: `independent clients, from ${String(NIGHT * 100)} to ${String(DAY * 100)} % of the capacity and back, twice`,
  load(profile, count, random) {
    const most = DAY * capacity(profile);
    const middle = (NIGHT + DAY) / 2;
    const durationMs = count / (middle * capacity(profile));
    const times: number[] = [];
    // Drawn at the highest rate; those that the rate of the moment does not allow are left out.
    for (let now = 0; now < durationMs;) {
      now += exponential(random, 1 / most);
      const phase = Math.cos((4 * Math.PI * now) / durationMs);
      const share = middle - ((DAY - NIGHT) / 2) * phase;
      if (random() < share / DAY) times.push(now);
    }
    return { kind: 'open', times };
  },
};

export const PATTERNS: readonly Pattern[] = [
  closedLoop('lone', 1, 20),
  poisson('steady 30 %', 0.3),
  poisson('steady 60 %', 0.6),
  poisson('steady 85 %', 0.85),
  bursty,
  diurnal,
  poisson('overload', 2),
];

function fromGaps(count: number, gap: (index: number) => number): Load {
  let now = 0;
  const times = Array.from({ length: count }, (_, index) => (now += gap(index)));
  return { kind: 'open', times };
}
