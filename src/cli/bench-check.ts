import type { Form } from '../load/prepared-request.js';
import { locate, type Target } from '../load/target.js';

interface Trial {
  readonly url: URL;
  readonly image: Buffer;
  readonly form: Form;
  readonly apiKey: string | undefined;
}

const PATIENCE_MS = 30_000;

/**
 * One request before the load, so that a wrong URL or a missing key is not a table full of errors.
 * @returns where to send the load
 * @throws one line for a person
 */
export async function checkServer(trial: Trial): Promise<Target> {
  const target = await locate(trial.url).catch((error: unknown) => {
    throw new Error(`there is no server at ${trial.url.origin} (${reasonOf(error)})`);
  });
  const response = await ask(trial).catch((error: unknown) => {
    throw new Error(`${trial.url.origin} does not answer (${reasonOf(error)})`);
  });
  const text = await response.text();
  // A server at its limit is there, and knows the route.
  if (response.ok || response.status === 429) return target;
  const hint = response.status === 401 ? '; give one with --api-key' : '';
  throw new Error(`${trial.url.href} answers ${String(response.status)}: ${detailOf(text)}${hint}`);
}

function ask({ url, image, form, apiKey }: Trial): Promise<Response> {
  const body = form === 'raw' ? image : JSON.stringify({ image_b64: image.toString('base64') });
  const type = form === 'raw' ? 'application/octet-stream' : 'application/json';
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': type, ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }) },
    body: body as string,
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
}

/** Problems say what to do in `detail`; other servers get their first words quoted. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return detail.replace(/\.$/, '');
  } catch {
    // Not JSON.
  }
  return text.trim().slice(0, 100).replaceAll(/\s+/g, ' ') || 'no reason given';
}

function reasonOf(error: unknown): string {
  const { cause, code, message } = error as NodeJS.ErrnoException;
  if (cause instanceof Error) return reasonOf(cause);
  // Where a name has several addresses, there is an error for each and no message.
  return code ?? message;
}
