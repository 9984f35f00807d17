import { createHash } from 'node:crypto';
import { afterEach, beforeEach } from 'vitest';
import { type JobRecord, newJobId } from '../../src/jobs/job.js';
import type {
  Claim,
  Consumer,
  JobConsumer,
  JobStore,
  NewJob,
  StoreLimits,
  Verdict,
} from '../../src/jobs/job-store.js';
import { until } from './server.js';

/** How a store is opened and broken, so that one suite can try all of them. */
export interface StoreHarness {
  /** Opens the store on the data of this test. */
  open(limits?: Partial<StoreLimits>): Promise<JobStore>;
  /** Ends everything that the store holds, as `kill -9` of its process would. */
  crash(store: JobStore): Promise<void>;
  cleanUp(): Promise<void>;
}

/** A fresh store for every test, which can be opened anew. */
export interface StoreContext {
  store: JobStore;
  reopen(limits: Partial<StoreLimits>): Promise<void>;
  /** As after `kill -9`. */
  crash(): Promise<void>;
}

export function useStore(createHarness: () => Promise<StoreHarness>): StoreContext {
  let harness: StoreHarness;
  const context: StoreContext = {
    store: undefined as unknown as JobStore,
    async reopen(limits) {
      await context.store.close();
      context.store = await harness.open(limits);
    },
    async crash() {
      await harness.crash(context.store);
      context.store = await harness.open();
    },
  };
  beforeEach(async () => {
    harness = await createHarness();
    context.store = await harness.open();
  });
  afterEach(async () => {
    await context.store.close();
    await harness.cleanUp();
  });
  return context;
}

export const LIMITS = {
  maxOpenJobs: 1000,
  maxBytes: 2 ** 30,
  keepMs: 3_600_000,
  keepCount: 1000,
  leaseMs: 2000,
};

export function newJob(changes: Partial<NewJob> = {}): NewJob {
  const images = changes.images ?? [Buffer.from('an image')];
  return {
    id: newJobId(),
    owner: 'anna',
    model: 'm',
    priority: 'normal',
    threshold: 0.5,
    imageCount: images.length,
    imageBytes: images.reduce((sum, image) => sum + image.length, 0),
    createdAt: Date.now(),
    expiresAt: Date.now() + 600_000,
    fingerprint: createHash('sha256').update(images.join()).digest('hex'),
    ...changes,
    images,
  };
}

export const DONE: Verdict = {
  kind: 'completed',
  results: [
    { detections: [{ label: 'cat', confidence: 0.9, bbox: [1, 2, 3, 4] }], inference_ms: 5 },
  ],
};

/** A consumer whose verdicts the test gives, one by one. */
export class ManualConsumer {
  readonly claims: Claim[] = [];
  readonly #verdicts: ((verdict: Verdict) => void)[] = [];
  readonly consumer: JobConsumer;
  /** The most that were in work at once. */
  peak = 0;

  constructor(store: JobStore, { model = 'm', slots = 1 } = {}) {
    this.consumer = store.consume({
      model,
      slots,
      run: (claim) => {
        this.claims.push(claim);
        this.peak = Math.max(this.peak, this.#unsettled());
        return new Promise((resolve) => this.#verdicts.push(resolve));
      },
    });
  }

  #settled = 0;
  #unsettled(): number {
    return this.claims.length - this.#settled;
  }

  get ids(): string[] {
    return this.claims.map(({ job }) => job.id);
  }

  /** Waits until the n-th claim (from 0) is there. */
  async claimed(at: number): Promise<Claim> {
    await until(() => this.claims.length > at);
    return this.claims[at] as Claim;
  }

  async settle(at: number, verdict: Verdict = DONE): Promise<void> {
    await until(() => this.#verdicts.length > at);
    this.#settled++;
    this.#verdicts[at]?.(verdict);
  }
}

/** Runs everything at once with one verdict. */
export function consumeAll(
  store: JobStore,
  verdict: Verdict = DONE,
  { model = 'm', slots = 4 } = {},
): { readonly consumer: Consumer; readonly seen: string[] } {
  const seen: string[] = [];
  const consumer = store.consume({
    model,
    slots,
    run: (claim) => {
      seen.push(claim.job.id);
      return Promise.resolve(verdict);
    },
  });
  return { consumer, seen };
}

export async function inState(
  store: JobStore,
  id: string,
  state: JobRecord['state'],
): Promise<JobRecord> {
  let record: JobRecord | undefined;
  await until(async () => (record = await store.get(id))?.state === state);
  return record as JobRecord;
}
