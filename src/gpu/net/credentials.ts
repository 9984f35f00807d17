import { splitCredentials } from './address.js';

interface Secret {
  readonly origin: string;
  readonly path: readonly string[];
  readonly authorization: string;
}

/**
 * The credentials in the addresses of indexes. They are sent to their servers only, and where one
 * server has several indexes, each of them gets its own.
 */
export class Credentials {
  readonly #secrets: readonly Secret[];

  constructor(indexUrls: readonly string[]) {
    this.#secrets = indexUrls.flatMap((index) => {
      const { url, authorization } = splitCredentials(index);
      return authorization === undefined ? [] : [{ ...placeOf(url), authorization }];
    });
  }

  /**
   * Those of the index whose address has most in common with this one, of several the first: files
   * often lie elsewhere on the same server.
   */
  for(url: string): string | undefined {
    const { origin, path } = placeOf(url);
    const [best] = this.#secrets
      .filter((secret) => secret.origin === origin)
      .map((secret) => ({ ...secret, closeness: closeness(secret.path, path) }))
      .sort((a, b) => b.closeness - a.closeness);
    return best?.authorization;
  }
}

function placeOf(text: string): { origin: string; path: string[] } {
  const { origin, pathname } = new URL(text);
  return { origin, path: pathname.split('/').filter((part) => part !== '') };
}

/** How many folders are the same; half a one more where that is all of the index's address. */
function closeness(index: readonly string[], path: readonly string[]): number {
  const end = index.findIndex((part, at) => part !== path[at]);
  return end < 0 ? index.length + 0.5 : end;
}
