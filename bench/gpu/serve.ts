import type { DeviceName } from '../../src/config/devices.js';
import { BenchServer } from '../server.js';
import { msOfRole, useBetween } from '../threads.js';
import { type Context, CORES } from './context.js';
import { eventLoopP99Ms, meanBatch } from './exposition.js';
import { bestRaw, decodeLimit, servedLimit } from './limits.js';
import { LoadGroup } from './load-group.js';
import type { GpuOptions } from './options.js';
import type { ServedRow } from './results.js';

const START_TIMEOUT_MS = 180_000;
const ERROR_CHARACTERS = 600;
/** V8 optimises the request path for so long where all cores are busy with something else. */
const WARM_UP_SECONDS = 20;
const QUICK_WARM_UP_SECONDS = 0.5;

/** More than any plan has in work: with less, cores idle while clients are about to ask again. */
const FULL_LOAD = 640;
const QUICK_FULL_LOAD = 16;

export function fullLoad({ quick }: GpuOptions): number {
  return quick ? QUICK_FULL_LOAD : FULL_LOAD;
}

/**
 * A measured plan is what is to be tested, and it must not be made during the test: a server with a
 * quick profile goes on measuring as soon as it is idle, in the way of those that are not.
 */
export async function ensureProfile(context: Context, device: DeviceName): Promise<void> {
  const server = await serveOn(context, device, context.options.quick ? [] : ['--profile', 'full']);
  await server.stop();
}

/** Starts the built server on a device. @throws with what it said when it does not serve in time */
export async function serveOn(
  { root, options, cacheDir, children }: Context,
  device: DeviceName,
  flags: readonly string[] = [],
): Promise<BenchServer> {
  let said = '';
  let timer: NodeJS.Timeout | undefined;
  const args = ['--device', device, ...flags, ...options.serverFlags];
  const starting = BenchServer.start(root, args, {
    env: { SHOAL_CACHE_DIR: cacheDir },
    onChild: (child) => {
      children.add(child);
      timer = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
    },
    onError: (text) => {
      said = (said + text).slice(-ERROR_CHARACTERS);
    },
  });
  try {
    return await starting;
  } catch (error) {
    throw new Error(`${(error as Error).message}: ${said.trim()}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The precision of the model that is served, where the server says so. */
async function servedPrecision(server: BenchServer): Promise<string | undefined> {
  const { models } = await server.fetchJson<{ models: { precision?: string }[] }>('/models');
  return models[0]?.precision;
}

export interface Load {
  readonly form: 'raw' | 'json';
  readonly concurrency: number;
  readonly seconds: number;
}

type Groups = Readonly<Partial<Record<Load['form'], LoadGroup>>>;

/** A server with the load generators for it. */
export class Bout {
  readonly #context: Context;
  readonly #device: DeviceName;
  readonly #groups: Groups;
  readonly setting: string;
  readonly server: BenchServer;

  private constructor(
    context: Context,
    device: DeviceName,
    setting: string,
    server: BenchServer,
    groups: Groups,
  ) {
    this.#context = context;
    this.#device = device;
    this.setting = setting;
    this.server = server;
    this.#groups = groups;
  }

  /**
   * Not warmed up yet, so that several can start side by side.
   * @param setting flags for the server, and what the rows are called; empty for none
   */
  static async start(
    context: Context,
    device: DeviceName,
    setting: string,
    forms: readonly Load['form'][],
    most: number,
  ): Promise<Bout> {
    const server = await serveOn(context, device, setting.split(' ').filter(Boolean));
    const groups: Partial<Record<Load['form'], LoadGroup>> = {};
    for (const form of forms) {
      groups[form] = await LoadGroup.start(context, server.port, form, most);
    }
    return new Bout(context, device, setting, server, groups);
  }

  async warmUp(concurrency: number): Promise<void> {
    const seconds = this.#context.options.quick ? QUICK_WARM_UP_SECONDS : WARM_UP_SECONDS;
    for (const group of Object.values(this.#groups)) await group.closed(concurrency, seconds);
  }

  /** @param besides what decoding reaches beside it; without it, the best that is known */
  async measure(
    { form, concurrency, seconds }: Load,
    besides?: () => Promise<number>,
  ): Promise<ServedRow> {
    const group = this.#groups[form];
    if (group === undefined) throw new Error(`there is no load with ${form} bodies`);
    const metrics = await this.server.metrics();
    const [before, generators] = [this.server.threadTimes(), group.times()];
    const started = performance.now();
    const { ok, ...found } = await group.closed(concurrency, seconds);
    const elapsed = (performance.now() - started) / 1000;
    const uses = [
      ...useBetween(before, this.server.threadTimes(), ok),
      ...useBetween(generators, group.times(), ok),
    ];
    const after = await this.server.metrics();
    const generatorCores = (msOfRole(uses, 'load generator') * ok) / 1000 / elapsed;
    const decode =
      besides === undefined ? decodeLimit(this.#context.results.decode) : await besides();
    const limit = await this.#limit(generatorCores, decode);
    return {
      device: this.#device,
      setting: this.setting,
      form,
      concurrency,
      perSecond: found.perSecond,
      p50Ms: found.p50Ms,
      p99Ms: found.p99Ms,
      meanBatch: meanBatch(metrics, after),
      refused: found.refused,
      failed: found.failed,
      generatorCores,
      eventLoopP99Ms: eventLoopP99Ms(after),
      uses,
      decode: decode ?? null,
      limit,
      ratio: limit === null ? null : found.perSecond / limit,
    };
  }

  async stop(): Promise<void> {
    for (const group of Object.values(this.#groups)) group.stop();
    await this.server.stop();
  }

  async #limit(generatorCores: number, decode: number | undefined): Promise<number | null> {
    const precision = await servedPrecision(this.server);
    const loop = bestRaw(this.#context.results.raw, this.#device, precision);
    if (loop === undefined || decode === undefined) return null;
    const bounds = { device: this.#device, cores: CORES, generatorCores };
    return servedLimit({ ...bounds, raw: loop.perSecond, decode });
  }
}

export function rowLine({
  form,
  concurrency,
  perSecond,
  meanBatch: mean,
  ratio,
}: ServedRow): string {
  const share = ratio === null ? '' : `, ${ratio.toFixed(3)} of the limit`;
  return (
    `${form}, ${String(concurrency)} connections: ${perSecond.toFixed(0)}/s, ` +
    `mean batch ${mean.toFixed(1)}${share}`
  );
}
