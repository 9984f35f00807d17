import type { BatchingMode } from '../engine/messages.js';
import { type Curve, latencyMs } from '../planning/curve.js';
import type { Prospect } from './gaps.js';

/** What the batcher sees at the moment of a decision. */
export interface BatchView {
  /** Interactive items that a session could take now. */
  readonly waiting: number;
  /** Background items that a session could take now. */
  readonly background: number;
  /** How long the oldest interactive item has waited. */
  readonly oldestMs: number;
  /** How long until the earliest deadline of the interactive items. */
  readonly slackMs: number;
  readonly idleSessions: number;
  /** Idle sessions on a device that another session is using. */
  readonly joinable?: number;
  /** Whether more items wait to be decoded than are being decoded. */
  readonly isDecodingLate?: boolean;
  /** Sessions that run a batch and can take one more, to begin the moment that one ends. */
  readonly stageable?: number;
  /** Interactive items that arrive per millisecond, lately. */
  readonly arrivalsPerMs: number;
  /** How many items an arriving one has found in the engine, lately. */
  readonly company: number;
  /** Measured time of recent batches over what the profile says. */
  readonly drift: number;
  /** What a session spends per item besides inference: decoding, when it does that itself. */
  readonly perItemMs: number;
  /** How many of the first ones are of tenants that have nothing else in work. */
  readonly modest?: number;
  /** How long ago the oldest interactive item was first held back to let its batch grow. */
  readonly heldMs?: number;
  /** What holding back may bring; without it nothing is ever held back. */
  readonly forecast?: readonly Prospect[];
}

export interface BatchRules {
  readonly mode: BatchingMode;
  readonly sessions: number;
  readonly maxBatch: number;
  /** The longest that an item is held back to let a batch grow. */
  readonly windowMs: number;
  /** Latency by batch size while all sessions are busy. Empty: not measured. */
  readonly curve: Curve;
  /** The same of the wide session, which has all cores for itself. */
  readonly wideCurve?: Curve;
}

export type BatchDecision =
  | {
      readonly kind: 'run';
      readonly session: 'narrow' | 'wide';
      /** Interactive items to take. */
      readonly size: number;
      /** Background items to add. */
      readonly extra: number;
    }
  | { readonly kind: 'wait'; readonly forMs: number }
  | { readonly kind: 'nothing' };

/** A batch that takes less than this share longer counts as taking no longer. */
const NEARLY_FREE = 0.05;
/**
 * A millisecond more counts this much more for an item that has waited as long as its batch takes.
 * Otherwise the mean would win at the expense of those who are late already.
 */
const AGE_WEIGHT = 2;
/** A batch that is this full may join another one on the same device. */
const JOINING = 1 / 2;
/** Before a deadline there is room for a batch that takes this many times as long as expected. */
const SLOWER = 2;
/** Timers are no finer than this. */
const TIMER_MS = 1;
/** More interactive traffic than this (one item in two seconds) keeps a session free for it. */
const QUIET_PER_MS = 0.0005;

/**
 * What a free session should do now. Pure: the same view always gives the same answer.
 *
 * - `adaptive`: takes what waits, and holds it back only when the profile and the arrivals say
 *   that the batch gains more than its items lose. With several sessions free, items are shared.
 *   A lone item gets the wide session, as long as nobody else is expected to suffer.
 * - `fixed`: collects for the whole window, or until the batch is full or a deadline is near.
 * - `off`: one item at a time.
 *
 * While all sessions are busy, those that can are given one full batch ahead: it could not become
 * any better, and whoever would have to be asked for it when the session is free keeps it waiting.
 * On a device that another session is using, a batch has to be half full to begin beside it: it gets
 * a part of the device and costs CPU of its own. It has to be full where CPU is what is missing.
 *
 * Background items run when nothing else waits, and in slots of a batch that cost next to nothing.
 */
export function decideBatch(view: BatchView, rules: BatchRules): BatchDecision {
  if (view.idleSessions === 0) return decideStaging(view, rules);
  if (view.waiting === 0) return decideBackground(view, rules);
  const full = Math.min(view.waiting, rules.maxBatch);
  switch (rules.mode) {
    case 'off':
      return run(1);
    case 'fixed': {
      const leftMs = Math.min(rules.windowMs - view.oldestMs, untilLateMs(full, view, rules));
      if (full === rules.maxBatch || leftMs <= 0) return run(full, spareSlots(full, view, rules));
      return { kind: 'wait', forMs: leftMs };
    }
    case 'adaptive':
      return decideAdaptive(view, rules);
  }
}

/**
 * How long items may still be held back and be answered before the earliest deadline: for half of
 * the time there was, which is all that can be said of a model that was not measured, and only
 * while a batch that takes longer than expected would be done as well.
 */
function untilLateMs(size: number, view: BatchView, rules: BatchRules): number {
  const expectedMs = costMs(rules.curve, size, view) || 0;
  return Math.min((view.slackMs - view.oldestMs) / 2, view.slackMs - SLOWER * expectedMs);
}

/** Anything smaller is left to grow until a session is free. */
function decideStaging(view: BatchView, rules: BatchRules): BatchDecision {
  const { joinable = 0, stageable = 0, isDecodingLate = false } = view;
  if (joinable + stageable === 0) return { kind: 'nothing' };
  const full = rules.mode === 'off' ? 1 : rules.maxBatch;
  const least = joinable > 0 && !isDecodingLate ? Math.ceil(full * JOINING) : full;
  const size = Math.min(view.waiting, full);
  if (size >= least && crowdLimit(view, rules) >= size) return run(size);
  // Somebody who comes would have to wait for two batches.
  const isQuiet = view.waiting === 0 && view.arrivalsPerMs <= QUIET_PER_MS;
  return isQuiet && view.background >= full ? run(0, full) : { kind: 'nothing' };
}

function decideAdaptive(view: BatchView, rules: BatchRules): BatchDecision {
  if (wideIsBetter(view, rules)) return { kind: 'run', session: 'wide', size: 1, extra: 0 };
  const size = fairShare(view, rules);
  const forMs = worthWaitingMs(size, view, rules);
  if (forMs > 0) return { kind: 'wait', forMs };
  return run(size, spareSlots(size, view, rules));
}

/**
 * One item alone in the engine. With all cores it is done sooner, but whoever comes meanwhile has
 * to wait for it instead of starting on a core of their own.
 */
function wideIsBetter(view: BatchView, rules: BatchRules): boolean {
  if (rules.wideCurve === undefined || view.waiting !== 1) return false;
  if (view.idleSessions < rules.sessions) return false;
  const wideMs = costMs(rules.wideCurve, 1, view);
  // A client that asks one thing after the other comes often, but never meanwhile.
  const meanwhile = Math.min(view.arrivalsPerMs * wideMs, view.company);
  return wideMs * (1 + meanwhile) <= costMs(rules.curve, 1, view);
}

/** How many of the waiting items one session takes when all free ones get some. */
function fairShare(view: BatchView, rules: BatchRules): number {
  const most = Math.min(view.waiting, rules.maxBatch);
  const share = Math.min(
    most,
    Math.ceil(view.waiting / view.idleSessions),
    crowdLimit(view, rules),
  );
  const size = isBetterOneByOne(share, view, rules) ? 1 : share;
  // All at once, where that takes hardly longer, leaves other sessions to those that come next.
  return size + extraSlots(size, most - size, view, rules) === most ? most : size;
}

/** It is others who keep the sessions busy; whoever has nothing else in work does not ride with them. */
function crowdLimit(view: BatchView, rules: BatchRules): number {
  const { modest = 0 } = view;
  return modest > 0 && isSaturated(view, rules) ? modest : Number.POSITIVE_INFINITY;
}

function isSaturated(view: BatchView, rules: BatchRules): boolean {
  return view.company > rules.sessions * rules.maxBatch;
}

/**
 * Where a batch makes no item cheaper, as on a CPU, it only keeps its first items from being
 * answered. Not so when the sessions cannot keep up: then the messages saved around it count.
 */
function isBetterOneByOne(size: number, view: BatchView, rules: BatchRules): boolean {
  if (isSaturated(view, rules)) return false;
  const oneByOneMs = size * costMs(rules.curve, 1, view);
  return oneByOneMs <= costMs(rules.curve, size, view) * (1 + NEARLY_FREE);
}

/**
 * How long to hold `size` items back in the hope of one more; 0 when that is not worth it.
 *
 * If one comes, it saves the rest of a batch that it would have missed, and the others pay what the
 * larger batch takes longer. Whether or not it comes, all that are held back pay the wait, and so
 * do those who would have come during the batch and now start later. With one session, independent
 * clients never make that worth it; clients that come in clumps or at a steady pace do.
 */
function worthWaitingMs(size: number, view: BatchView, rules: BatchRules): number {
  const { curve, maxBatch, sessions } = rules;
  // With another session free the newcomer would not have to wait for this one.
  if (view.idleSessions > 1 || view.waiting >= maxBatch || curve.length === 0) return 0;
  const nowMs = costMs(curve, size, view);
  const largerMs = costMs(curve, size + 1, view);
  const meanwhile = view.arrivalsPerMs * nowMs;
  const nextBatch = Math.max(1, Math.min(maxBatch, Math.round(meanwhile)));
  const changedMs = costMs(curve, nextBatch, view) - largerMs - size * (largerMs - nowMs);
  // Of several sessions, another one is free for them soon enough.
  const others = sessions > 1 ? 0 : Math.max(0, meanwhile - 1);
  const payers = size * (1 + (AGE_WEIGHT * view.oldestMs) / nowMs) + others;
  const heldMs = view.heldMs ?? view.oldestMs;
  const limitMs = Math.min(rules.windowMs - heldMs, view.slackMs - largerMs);

  let best = { gainMs: 0, forMs: 0 };
  for (const prospect of view.forecast ?? []) {
    const { withinMs, chance, comesMs, lastsMs } = prospect;
    if (withinMs < TIMER_MS || withinMs > limitMs) continue;
    const savedMs = Math.max(0, nowMs / sessions - comesMs) + changedMs;
    const gainMs = chance * savedMs - lastsMs * payers;
    if (gainMs > best.gainMs) best = { gainMs, forMs: withinMs };
  }
  return best.forMs;
}

/** Background items that can ride along without delaying the `size` items they ride with. */
function spareSlots(size: number, view: BatchView, rules: BatchRules): number {
  if (view.waiting > size) return 0;
  return extraSlots(size, Math.min(view.background, rules.maxBatch - size), view, rules);
}

/** How many items, up to `room`, a batch of `size` can take on and hardly take longer. */
function extraSlots(size: number, room: number, view: BatchView, rules: BatchRules): number {
  if (rules.curve.length === 0) return 0;
  const limitMs = costMs(rules.curve, size, view) * (1 + NEARLY_FREE);
  let extra = 0;
  while (extra < room && costMs(rules.curve, size + extra + 1, view) <= limitMs) extra++;
  return extra;
}

function decideBackground(view: BatchView, rules: BatchRules): BatchDecision {
  if (view.background === 0) return { kind: 'nothing' };
  const isLastSession = view.idleSessions === 1 && rules.sessions > 1;
  if (isLastSession && view.arrivalsPerMs > QUIET_PER_MS) return { kind: 'nothing' };
  if (rules.mode === 'off') return run(0, 1);
  const share = Math.min(rules.maxBatch, Math.ceil(view.background / view.idleSessions));
  if (view.arrivalsPerMs <= QUIET_PER_MS) return run(0, share);
  // Somebody may come while it runs, so it is kept as short as one image.
  return run(0, 1 + extraSlots(1, share - 1, view, rules));
}

function costMs(curve: Curve, batch: number, view: BatchView): number {
  return latencyMs(curve, batch) * view.drift + batch * view.perItemMs;
}

function run(size: number, extra = 0): BatchDecision {
  return { kind: 'run', session: 'narrow', size, extra };
}
