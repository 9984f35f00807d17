import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServedModel } from '../models/served-model.js';
import type { ShoalServer } from '../server.js';
import { VERSION } from '../version.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/coffee.jpg', import.meta.url));

/** What a person wants to know when the server is up, and what to try first. */
export function banner(server: ShoalServer): string {
  const models = server.models.all.map((model) => `  model   ${describe(model)}`);
  return [
    '',
    `  shoal ${VERSION} listens on ${server.url}  (API docs: ${server.url}/docs)`,
    ...models,
    '',
    '  Try it:',
    `    ${tryLine(server)}`,
    '',
  ].join('\n');
}

/** The same for a log that machines read. */
export function listeningLine(server: ShoalServer): Record<string, unknown> {
  return {
    url: server.url,
    version: VERSION,
    models: server.models.all.map((model) => describe(model)),
    try: tryLine(server),
  };
}

function describe({ name, plan, engine, settings }: ServedModel): string {
  const { sessions, threads, maxBatch } = plan;
  const window = settings.batching === 'fixed' ? `, window ${String(settings.window_ms)} ms` : '';
  return (
    `${name} on ${engine.provider ?? 'none'}: ${String(sessions)} session(s) × ` +
    `${String(threads)} thread(s), batches of up to ${String(maxBatch)} (${settings.batching}${window}); ${plan.why}`
  );
}

function tryLine({ url }: ShoalServer): string {
  const path = relative(process.cwd(), EXAMPLE);
  const image = existsSync(EXAMPLE) ? (path.startsWith('..') ? EXAMPLE : path) : 'photo.jpg';
  return `curl -F image=@${image} ${url}/predict`;
}
