import type { Form } from '../load/prepared-request.js';
import { locate, type Target } from '../load/target.js';
import { detailOf, reasonOf } from './answers.js';

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
