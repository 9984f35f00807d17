import { setTimeout as delay } from 'node:timers/promises';
import { shownUrl, splitCredentials } from './address.js';
import { Credentials } from './credentials.js';
import { isPassing, PassingError, problemOf, UnreachableError } from './problems.js';
import { retryAfterMs } from './retry-after.js';

export interface WebOptions {
  /** Credentials in these addresses are sent to their servers, and to no others. */
  readonly indexUrls: readonly string[];
  /** A proxy is set, which not every Node.js can use. */
  readonly hasProxy: boolean;
  /** A connection that is silent for this long is given up. */
  readonly silenceMs?: number;
  readonly sleep?: (ms: number) => Promise<unknown>;
  readonly now?: () => number;
  /** Something went wrong and is tried again. */
  readonly onRetry?: (problem: string, delayMs: number) => void;
}

export interface WebRequest<T> {
  readonly url: string;
  /** Asked before every attempt, which may go on where the last one ended. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Takes the answer while it comes in, and says so whenever something came. */
  readonly use: (response: Response, alive: () => void) => Promise<T>;
  /** How far it has come. Whoever gets further than ever has as many attempts again. */
  readonly progress?: () => number;
}

const ATTEMPTS = 6;
const FIRST_DELAY_MS = 1000;

/** Reads from the web: with credentials, and again when a connection breaks or a server is busy. */
export class Web {
  readonly #options: WebOptions;
  readonly #credentials: Credentials;

  constructor(options: WebOptions) {
    this.#options = options;
    this.#credentials = new Credentials(options.indexUrls);
  }

  async get<T>(request: WebRequest<T>): Promise<T> {
    const { sleep = delay, onRetry, hasProxy } = this.#options;
    const { progress = () => 0 } = request;
    let failures = 0;
    let furthest = progress();
    for (;;) {
      try {
        return await this.#attempt(request);
      } catch (error) {
        // Whoever starts over has got nowhere until it is past where it has been before.
        failures = progress() > furthest ? 1 : failures + 1;
        furthest = Math.max(furthest, progress());
        if (!isPassing(error) || failures >= ATTEMPTS) {
          if (!(error instanceof TypeError || error instanceof PassingError)) throw error;
          const advice = hasProxy ? ' (is NODE_USE_ENV_PROXY=1 set for the proxy?)' : '';
          const problem = `cannot read ${shownUrl(request.url)}: ${problemOf(error)}${advice}`;
          const Kind = error instanceof TypeError ? UnreachableError : Error;
          throw new Kind(problem, { cause: error });
        }
        const waitMs = error instanceof PassingError ? error.waitMs : 0;
        const delayMs = Math.max(FIRST_DELAY_MS * 2 ** (failures - 1), waitMs);
        onRetry?.(problemOf(error), delayMs);
        await sleep(delayMs);
      }
    }
  }

  async #attempt<T>({ url, headers, use }: WebRequest<T>): Promise<T> {
    const { silenceMs = 60_000, now = Date.now } = this.#options;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      controller.abort(new PassingError(`silent for ${String(silenceMs / 1000)} s`));
    }, silenceMs);
    const plain = splitCredentials(url).url;
    const authorization = this.#credentials.for(plain);
    try {
      const response = await fetch(plain, {
        headers: {
          'user-agent': 'shoal',
          // Packed on the way, neither sizes nor ranges would be those of the file.
          'accept-encoding': 'identity',
          ...(authorization !== undefined && { authorization }),
          ...headers?.(),
        },
        signal: controller.signal,
      });
      const isBusy = response.status >= 500 || [408, 425, 429].includes(response.status);
      if (isBusy) {
        const waitMs = retryAfterMs(response.headers.get('retry-after'), now());
        throw new PassingError(`the server answers ${String(response.status)}`, waitMs);
      }
      return await use(response, () => timer.refresh());
    } finally {
      clearTimeout(timer);
      // Whatever was not read of the answer is not wanted.
      controller.abort();
    }
  }
}
