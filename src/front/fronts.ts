import type { ByteBudget } from '../admission/byte-budget.js';
import type { Tenant } from '../admission/tenant.js';
import { anonymousTenant } from '../admission/tenants.js';
import type { Config } from '../config/schema.js';
import type { Intakes } from '../engine/intakes.js';
import { afterCrash, NO_CRASHES, type RestartState } from '../engine/restart-policy.js';
import type { Address } from '../http/entrance.js';
import type { ModelRegistry } from '../models/registry.js';
import type { Log } from '../telemetry/log.js';
import type { Metrics, MetricValues } from '../telemetry/metrics.js';
import { FrontCounts } from './front-counts.js';
import { FrontProcess } from './front-process.js';
import type { PrivateFolder } from './private-folder.js';
import { Reception } from './reception.js';

export interface FrontsHost {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly models: ModelRegistry;
  readonly tenants: ReadonlyMap<string, Tenant>;
  readonly intakes: Intakes;
  readonly budget: ByteBudget;
  readonly folder: PrivateFolder;
  /** Where this process answers what fronts pass on. */
  readonly innerPath: string;
}

interface Slot {
  readonly index: number;
  front: FrontProcess | undefined;
  isReady: boolean;
  generation: number;
  restart: RestartState;
}

/** The processes that receive requests, on one port. One that ends is replaced. */
export class Fronts {
  readonly #host: FrontsHost;
  readonly #slots: readonly Slot[];
  readonly #tenants: readonly Tenant[];
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #reception: Reception;
  readonly #counts = new FrontCounts();
  #isEnding = false;
  #settleStart: { resolve(): void; reject(error: Error): void } | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(host: FrontsHost, count: number) {
    this.#host = host;
    this.#reception = new Reception(host.config.max_connections);
    this.#slots = Array.from({ length: count }, (_, index) => ({
      index,
      front: undefined,
      isReady: false,
      generation: 0,
      restart: NO_CRASHES,
    }));
    const known = [...host.tenants.values()];
    this.#tenants = known.length > 0 ? known : [anonymousTenant()];
    host.metrics.onCollect(() => {
      const ready = this.#slots.filter(({ isReady }) => isReady);
      host.metrics.set('shoal_http_workers', {}, ready.length);
    });
    host.intakes.onGone = (engine) => {
      for (const front of this.#running) front.send(['gone', engine]);
    };
  }

  /** Resolves when all of them serve. @throws when the port cannot be had */
  async start(): Promise<Address> {
    const { host, port } = this.#host.config;
    const address = await this.#reception.open(host, port);
    await new Promise<void>((resolve, reject) => {
      this.#settleStart = { resolve, reject };
      for (const slot of this.#slots) this.#replace(slot);
    });
    this.#settleStart = undefined;
    return address;
  }

  collect(): Promise<MetricValues[]> {
    return this.#counts.collect();
  }

  /** Resolves with the number of requests that were cut off. */
  async drain(): Promise<number> {
    this.#isEnding = true;
    const { drain_delay_ms, grace_ms } = this.#host.config;
    const timer = setTimeout(() => {
      this.#reception.close();
    }, drain_delay_ms);
    this.#timers.add(timer);
    const drained = this.#running.map((front) => front.drain(drain_delay_ms, grace_ms));
    return (await Promise.all(drained)).reduce((sum, count) => sum + count, 0);
  }

  /** Ends them all; resolves when they are gone. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#reception.close();
    if (this.#isEmpty) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      for (const front of this.#running) front.stop();
    });
  }

  get #running(): FrontProcess[] {
    return this.#slots.map(({ front }) => front).filter((front) => front !== undefined);
  }

  get #isEmpty(): boolean {
    return this.#running.length === 0;
  }

  /** One that cannot even be started, for want of memory or descriptors, counts as ended. */
  #replace(slot: Slot): void {
    try {
      slot.front = this.#spawn(slot);
    } catch (error) {
      this.#handleEnd(slot, (error as Error).message);
    }
  }

  #spawn(slot: Slot): FrontProcess {
    const { config, models, intakes, folder, innerPath, log } = this.#host;
    slot.generation++;
    const name = `front-${String(slot.index)}-${String(slot.generation)}`;
    const intakePath = folder.socketPath(`${name}-intake`);
    const welcome = {
      config,
      models: models.all.map((model) => model.name),
      defaultModel: models.default.name,
      maxConnections: Math.ceil(config.max_connections / this.#slots.length),
      httpPath: folder.socketPath(name),
      intakePath,
      token: intakes.token,
      innerPath,
      folder: folder.path,
    };
    const front = new FrontProcess(
      welcome,
      { models: models.all, tenants: this.#tenants, log },
      {
        onReady: () => {
          slot.isReady = true;
          intakes.set(slot.index, intakePath);
          this.#reception.add(front);
          this.#counts.add(front);
          if (this.#slots.every(({ isReady }) => isReady)) this.#settleStart?.resolve();
        },
        onBroken: (engine) => {
          intakes.broken(engine);
        },
        onBytes: () => {
          this.#countBytes();
        },
        othersBytes: ({ bytes }) => this.#host.budget.usedBytes - bytes,
        onEnd: (reason) => {
          this.#reception.remove(front);
          this.#counts.remove(front);
          this.#handleEnd(slot, reason);
        },
      },
    );
    return front;
  }

  #countBytes(): void {
    const running = this.#running;
    this.#host.budget.othersBytes = running.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const front of running) front.tellBytes();
  }

  #handleEnd(slot: Slot, reason: string): void {
    const { log, metrics, intakes } = this.#host;
    const ranForMs = slot.isReady ? performance.now() - (slot.front?.startedAt ?? 0) : 0;
    slot.front = undefined;
    slot.isReady = false;
    this.#countBytes();
    intakes.set(slot.index, undefined);
    if (this.#isEmpty) this.#onEmpty?.();
    if (this.#isEnding) return;
    if (this.#settleStart !== undefined) {
      this.#settleStart.reject(new Error(`a process for requests does not start: ${reason}`));
      return;
    }
    metrics.count('shoal_http_worker_restarts_total', {});
    const { state, delayMs } = afterCrash(slot.restart, ranForMs);
    slot.restart = state;
    log.error({ front: slot.index, reason, restart_in_ms: delayMs }, 'front ended, restarting it');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      // Others drain, and it would have to be drained as well.
      if (!this.#isEnding) this.#replace(slot);
    }, delayMs);
    this.#timers.add(timer);
  }
}
