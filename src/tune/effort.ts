/** How far a search is, in seconds of its own estimate. */
export interface Effort {
  readonly doneSeconds: number;
  readonly leftSeconds: number;
  readonly elapsedMs: number;
}

/** The part that is done, and the time that the rest takes if it goes on as it went so far. */
export function outlook({ doneSeconds, leftSeconds, elapsedMs }: Effort): {
  share: number;
  leftMs: number;
} {
  const total = doneSeconds + leftSeconds;
  const pace = doneSeconds > 0 ? elapsedMs / doneSeconds : 1000;
  return { share: total > 0 ? doneSeconds / total : 1, leftMs: leftSeconds * pace };
}

/** For a person: whole seconds, then minutes. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${String(seconds)} s`;
  return `${String(Math.floor(seconds / 60))} min ${String(seconds % 60)} s`;
}
