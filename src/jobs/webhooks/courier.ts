import { Cancellation } from '../../cancellation.js';
import type { Config } from '../../config/schema.js';
import type { Telemetry } from '../../telemetry/telemetry.js';
import { failpoint } from '../failpoint.js';
import type { Consumer, Delivery, DeliveryVerdict, JobStore } from '../job-store.js';
import type { Network } from './dial.js';
import type { FailureReason } from './failure.js';
import { GroupLimit } from './group-limit.js';
import { type SecretSettings, secretsOf, signatureHeaders, writeMessage } from './message.js';
import { nextDelayMs } from './schedule.js';
import { type Outcome, send } from './send.js';
import { parseAllow, readTarget } from './target.js';

/** Attempts in work at once. */
const SLOTS = 32;
/** Of those, for the jobs of one owner: receivers that hang delay nobody else's webhooks. */
const OWNER_SLOTS = SLOTS / 2;
/** And at one host, which may be slow or dead. */
const HOST_SLOTS = 4;

export type CourierSettings = SecretSettings & Pick<Config, 'webhook_allow' | 'webhook_timeout_ms'>;

export interface CourierDeps extends Telemetry {
  readonly store: Pick<JobStore, 'deliver'>;
  readonly config: CourierSettings;
  /** Replaced in tests only. */
  readonly network?: Omit<Network, 'allow'>;
}

/**
 * Tells receivers about finished jobs, until they have heard it or it has been tried for long
 * enough. @throws ConfigError when `webhook_allow` cannot be read
 */
export function startCourier(deps: CourierDeps): Consumer {
  const courier = new Courier(deps);
  const consumer = deps.store.deliver({
    slots: SLOTS,
    run: (delivery) => courier.run(delivery),
  });
  return {
    get active() {
      return consumer.active;
    },
    get movedAt() {
      return consumer.movedAt;
    },
    close() {
      const closed = consumer.close();
      courier.stop();
      return closed;
    },
  };
}

class Courier {
  readonly #deps: CourierDeps;
  readonly #network: Network & { readonly timeoutMs: number };
  readonly #owners = new GroupLimit(OWNER_SLOTS);
  readonly #hosts = new GroupLimit(HOST_SLOTS);
  /** Of the attempts in work; `undefined` once it has been stopped. */
  #attempts: Set<Cancellation> | undefined = new Set();

  constructor(deps: CourierDeps) {
    this.#deps = deps;
    const { webhook_allow, webhook_timeout_ms: timeoutMs } = deps.config;
    this.#network = { ...deps.network, allow: parseAllow(webhook_allow), timeoutMs };
  }

  stop(): void {
    const attempts = this.#attempts ?? [];
    this.#attempts = undefined;
    for (const cancellation of attempts) cancellation.cancel(new Error('the server stops'));
  }

  /** Never rejects. */
  async run(delivery: Delivery): Promise<DeliveryVerdict> {
    const attempts = this.#attempts;
    if (attempts === undefined) return { kind: 'released' };
    const host = hostOf(delivery.webhookUrl);
    const ownersPlace = this.#owners.enter(delivery.job.owner);
    if (!ownersPlace.isAdmitted) return putOff(ownersPlace.delayMs);
    const hostsPlace = this.#hosts.enter(host);
    if (!hostsPlace.isAdmitted) {
      ownersPlace.withdraw();
      return putOff(hostsPlace.delayMs);
    }
    const cancellation = new Cancellation();
    attempts.add(cancellation);
    try {
      const outcome = await this.#attempt(delivery, cancellation);
      failpoint('webhook.sent');
      return this.#conclude(delivery, host, outcome);
    } catch (error) {
      this.#deps.log.error({ job: delivery.job.id, err: error }, 'could not write a webhook');
      return this.#conclude(delivery, host, { kind: 'failed', reason: 'internal' });
    } finally {
      attempts.delete(cancellation);
      hostsPlace.leave();
      ownersPlace.leave();
    }
  }

  #attempt({ job, webhookUrl }: Delivery, cancellation: Cancellation): Promise<Outcome> {
    const secrets = secretsOf(this.#deps.config, job.owner);
    if (secrets.length === 0) return Promise.resolve({ kind: 'failed', reason: 'no_secret' });
    const message = writeMessage(job);
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'shoal',
      ...signatureHeaders(message, secrets, Date.now()),
    };
    const parcel = { url: webhookUrl, headers, body: message.body };
    return send(parcel, this.#network, cancellation);
  }

  #conclude({ job, attempt }: Delivery, host: string, outcome: Outcome): DeliveryVerdict {
    const { log, metrics } = this.#deps;
    const verdict = decide(attempt, outcome, Math.random());
    if (verdict.kind === 'released') return verdict;
    const kind = verdict.kind === 'retry' ? 'retried' : verdict.kind;
    metrics.count('shoal_webhook_deliveries_total', { outcome: kind });
    if (verdict.kind === 'delivered') return verdict;
    // Not the URL: what comes after the host may be a secret between client and receiver.
    const line = { job: job.id, host, attempt, reason: verdict.reason };
    if (verdict.kind === 'abandoned') log.warn(line, 'a webhook was given up');
    else log.debug(line, 'a webhook failed and will be tried again');
    return verdict;
  }
}

/** Not tried at all: others have the places. */
function putOff(delayMs: number): DeliveryVerdict {
  return { kind: 'retry', delayMs, reason: 'busy', isCounted: false };
}

/** What to do after an attempt. Whoever says that it is gone for good is asked no more. */
export function decide(attempt: number, outcome: Outcome, random: number): DeliveryVerdict {
  switch (outcome.kind) {
    case 'delivered':
      return { kind: 'delivered' };
    case 'aborted':
      return { kind: 'released' };
    case 'failed': {
      const { reason, retryAfterMs } = outcome;
      const delayMs = reason === GONE ? undefined : nextDelayMs(attempt, random, retryAfterMs);
      if (delayMs === undefined) return { kind: 'abandoned', reason };
      return { kind: 'retry', delayMs, reason, isCounted: true };
    }
  }
}

const GONE: FailureReason = 'status_410';

/** For limits and log lines. */
function hostOf(url: string): string {
  try {
    return readTarget(url).host;
  } catch {
    return '';
  }
}
