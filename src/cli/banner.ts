import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describeVariant, isOnCpu } from '../devices/variant.js';
import type { ServedModel } from '../models/served-model.js';
import { type Profile, type SplitProfile, throughput } from '../planning/profile.js';
import type { ShoalServer } from '../server.js';
import { VERSION } from '../version.js';
import { count } from './words.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/coffee.jpg', import.meta.url));

/** What a person wants to know when the server is up, and what to try first. */
export function banner(server: ShoalServer): string {
  const models = server.models.all.flatMap(describeModel);
  const [head, hint] =
    server.role === 'worker'
      ? [`works on jobs  (health: ${reachable(server.url)}/health)`, []]
      : [
          `listens on ${server.url}  (API docs: ${reachable(server.url)}/docs)`,
          ['  Try it:', `    ${tryLine(server)}`, ''],
        ];
  const jobs = describeJobs(server);
  return ['', `  shoal ${VERSION} ${head}`, ...models, ...jobs, '', ...hint].join('\n');
}

/** The same for a log that machines read. */
export function listeningLine(server: ShoalServer): Record<string, unknown> {
  return {
    url: server.url,
    version: VERSION,
    models: server.models.all.map((model) => `${describe(model)} (${model.plan.why})`),
    ...(server.jobs !== undefined && { jobs: server.jobs.store.place }),
    ...(server.role === 'server' && { try: tryLine(server) }),
  };
}

function describeJobs({ jobs, role }: ShoalServer): string[] {
  if (jobs === undefined) return [];
  const who = role === 'worker' || jobs.isWorker ? 'run here' : 'left to workers';
  return [`  jobs    in ${jobs.store.place}, ${who}`];
}

/** What is served and how, and under it what was measured. */
function describeModel(model: ServedModel): string[] {
  const { plan, profile } = model;
  return [
    `  model   ${describe(model)}`,
    `          ${plan.why}`,
    ...(profile === undefined ? [] : describeCurves(profile, isOnCpu(model.variant))),
  ];
}

/** On a GPU sessions only run, and decoding is no part of what they reach. */
function describeCurves({ splits, decodeMs }: Profile, decodesItself: boolean): string[] {
  const perImage = { decodeMs: decodesItself ? decodeMs : 0 };
  return splits.map((split) => `          ${describeCurve(perImage, split)}`);
}

function describeCurve(perImage: Pick<Profile, 'decodeMs'>, split: SplitProfile): string {
  const rates = split.points.map(
    (point) => `${String(point.batch)}: ${throughput(perImage, split, point).toFixed(0)}`,
  );
  const shape = `${String(split.sessions)} × ${count(split.threads, 'thread')}`;
  return `${shape}, images/s by batch size  ${rates.join('   ')}`;
}

function describe({ name, plan, engine, settings, variant }: ServedModel): string {
  const window =
    settings.batching === 'fixed' ? `, collected for ${String(settings.window_ms)} ms` : '';
  const wide = plan.wideThreads > 0 ? ` and one of ${count(plan.wideThreads, 'thread')}` : '';
  const place = isOnCpu(variant) ? (engine.provider ?? 'none') : describeVariant(variant);
  return (
    `${name} on ${place}: ${count(plan.sessions, 'session')} of ` +
    `${count(plan.threads, 'thread')}${wide}, up to ${count(plan.maxBatch, 'image')} at a time${window}`
  );
}

function tryLine({ url, needsKey }: ShoalServer): string {
  const path = relative(process.cwd(), EXAMPLE);
  const image = existsSync(EXAMPLE) ? (path.startsWith('..') ? EXAMPLE : path) : 'photo.jpg';
  const key = needsKey ? '-H "X-API-Key: …" ' : '';
  return `curl ${key}-F image=@${image} ${reachable(url)}/predict`;
}

/** An address that means "all" is not one to connect to. */
function reachable(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//localhost');
}
