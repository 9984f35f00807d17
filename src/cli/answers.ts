/** Problems say what to do in `detail`; other servers get their first words quoted. */
export function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return detail.replace(/\.$/, '');
  } catch {
    // Not JSON.
  }
  return text.trim().slice(0, 100).replaceAll(/\s+/g, ' ') || 'no reason given';
}

/** Why there is no answer, in one word where there is one. */
export function reasonOf(error: unknown): string {
  const { cause, code, message } = error as NodeJS.ErrnoException;
  if (cause instanceof Error) return reasonOf(cause);
  // Where a name has several addresses, there is an error for each and no message.
  return code ?? message;
}
