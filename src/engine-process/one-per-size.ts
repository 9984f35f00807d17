/**
 * A session for every batch size, for devices that take seconds to turn from one to another.
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
