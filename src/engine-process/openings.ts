import type { Lane } from './lane-messages.js';

type Session = Pick<Lane, 'isIdle' | 'canStage'>;

/** The sessions that can take a batch now. */
export interface Openings<T extends Session> {
  readonly idle: readonly T[];
  /** Idle, but another session is using their device. */
  readonly joinable: readonly T[];
  /** Busy, and able to take one more to begin the moment theirs ends. */
  readonly stageable: readonly T[];
}

/**
 * Sessions on one device are one for the adaptive policy: the first batch that is running has the
 * device, and every further one makes it slower and costs CPU of its own.
 * @param areOne whether that is so here
 */
export function openingsOf<T extends Session>(
  sessions: readonly T[],
  areOne: boolean,
): Openings<T> {
  const idle = sessions.filter((session) => session.isIdle);
  const stageable = sessions.filter(({ canStage }) => canStage);
  if (!areOne) return { idle, joinable: [], stageable };
  const isFree = idle.length === sessions.length;
  return isFree
    ? { idle: idle.slice(0, 1), joinable: [], stageable }
    : { idle: [], joinable: idle, stageable };
}
