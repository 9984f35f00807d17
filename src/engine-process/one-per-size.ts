/**
 * With cuDNN a session is prepared for the size of the batch that it ran last. Another size takes
 * seconds, every time: three for a model that runs in three milliseconds. So every size that is
 * run has a session of its own.
 * @param first the session that is there already, for whichever size comes first
 */
export function onePerSize<Session>(
  first: Session,
  create: () => Promise<Session>,
): (size: number) => Promise<Session> {
  const sessions = new Map<number, Session>();
  return async (size) => {
    const known = sessions.get(size);
    if (known !== undefined) return known;
    const session = sessions.size === 0 ? first : await create();
    sessions.set(size, session);
    return session;
  };
}
