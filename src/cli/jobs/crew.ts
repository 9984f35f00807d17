/**
 * Runs several at once until all are done. The first that fails stops the others and is what is
 * thrown, whatever they say then.
 */
export async function runCrew(
  crew: readonly (() => Promise<void>)[],
  stop: AbortController,
): Promise<void> {
  await Promise.all(
    crew.map((member) =>
      member().catch((error: unknown) => {
        // A second reason would be ignored.
        stop.abort(error);
      }),
    ),
  );
  stop.signal.throwIfAborted();
}
