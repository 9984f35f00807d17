import type { Tenant } from '../admission/tenant.js';
import { backgroundTenant } from '../admission/tenants.js';
import type { Config } from '../config/schema.js';
import type { ModelRegistry } from '../models/registry.js';
import type { Telemetry } from '../telemetry/telemetry.js';
import { JobMonitor } from './job-monitor.js';
import { JobRunner } from './job-runner.js';
import type { Consumer, JobStore } from './job-store.js';
import { JobWatchers } from './watchers.js';
import { startCourier } from './webhooks/courier.js';

/** What a job that runs when the server is told to stop may still take. */
const CLOSE_GRACE_MS = 2000;
/** Owners whose keys are not known here; one that is forgotten starts anew. */
const MAX_OTHERS = 1000;

/** Everything about jobs in one process: their store, those who run them, those who follow them. */
export class Jobs {
  readonly store: JobStore;
  readonly watchers: JobWatchers;
  readonly monitor: JobMonitor;
  readonly #config: Config;
  readonly #telemetry: Telemetry;
  readonly #tenants: ReadonlyMap<string, Tenant>;
  readonly #others = new Map<string, Tenant>();
  #runners: JobRunner[] = [];
  #courier: Consumer | undefined;

  /** @param tenants those who have keys here, whose jobs get their share of the engine */
  constructor(store: JobStore, config: Config, tenants: Iterable<Tenant>, telemetry: Telemetry) {
    this.store = store;
    this.#config = config;
    this.#telemetry = telemetry;
    this.#tenants = new Map([...tenants].map((tenant) => [tenant.owner, tenant]));
    this.watchers = new JobWatchers(store);
    this.monitor = new JobMonitor(store, telemetry.metrics, () => this.#runners);
  }

  /** Whether jobs are run here, and not only taken. */
  get isWorker(): boolean {
    return this.#config.worker;
  }

  /** The models serve now. */
  start(models: ModelRegistry): void {
    if (!this.isWorker) return;
    const { max_pixels: maxPixels, max_decode_bytes: maxDecodeBytes } = this.#config;
    const options = {
      store: this.store,
      limits: { maxPixels, maxDecodeBytes },
      tenantOf: (owner: string) => this.#tenantOf(owner),
    };
    this.#runners = models.all.map((model) => new JobRunner(model, options, this.#telemetry));
    this.#courier = startCourier({
      store: this.store,
      config: this.#config,
      ...this.#telemetry,
    });
    void this.monitor.refresh();
  }

  /** No more is taken, and those who wait for a job are sent home. */
  async stopWork(graceMs: number): Promise<void> {
    this.watchers.close();
    const ms = Math.min(graceMs, CLOSE_GRACE_MS);
    await Promise.all([...this.#runners.map((runner) => runner.close(ms)), this.#courier?.close()]);
  }

  async close(): Promise<void> {
    this.monitor.stop();
    await this.store.close();
  }

  /** Somebody whose key only another server knows is a tenant like any other. */
  #tenantOf(owner: string): Tenant {
    const known = this.#tenants.get(owner) ?? this.#others.get(owner);
    if (known !== undefined) return known;
    const tenant = backgroundTenant(owner);
    this.#others.set(owner, tenant);
    const [oldest] = this.#others.keys();
    if (this.#others.size > MAX_OTHERS && oldest !== undefined) this.#others.delete(oldest);
    return tenant;
  }
}
