/**
 * Resolves when the text has been taken, so that whoever produces it is not faster than whoever
 * reads it.
 */
export function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Whoever read the output has enough of it, as `head` does. */
export function isClosedPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EPIPE';
}

/** Servers and file names could otherwise move the cursor and change colours. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]/g, '?');
}
