import { type ErrorCode, ERRORS } from '../errors.js';
import { type Log, logAt } from '../telemetry/log.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { RequestContext } from './context.js';

/** What is known about a request when it is over. */
export interface RequestReport {
  readonly context: RequestContext;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly totalMs: number;
  readonly endedAt: number;
  /** Health checks come every second and say little; they are logged only on `debug`. */
  readonly isProbe: boolean;
}

/** Requests that were refused before anything else was known about them. */
export interface Refused {
  readonly route: string;
  readonly model: string;
  readonly tenant: string;
  readonly code: ErrorCode;
}

const FLUSH_MS = 50;
const SUMMARY_MS = 1000;

/**
 * Log lines and metrics of finished requests, written a few at a time. While both cores compute,
 * the caches hold other things: twenty reports in a row cost as much as three on their own.
 */
export class ReportQueue {
  readonly #log: Log;
  readonly #metrics: Metrics;
  #reports: RequestReport[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** How many of the same kind since the last summary. */
  readonly #refused = new Map<string, { refused: Refused; count: number }>();
  #summaryTimer: NodeJS.Timeout | undefined;

  constructor(log: Log, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  add(report: RequestReport): void {
    this.#reports.push(report);
    this.#timer ??= setTimeout(() => {
      this.#writeReports();
    }, FLUSH_MS);
  }

  /**
   * A server that refuses most of what comes would write about little else. So these are counted,
   * and there is one line a second for each kind.
   */
  addRefused(refused: Refused): void {
    const key = `${refused.route} ${refused.model} ${refused.tenant} ${refused.code}`;
    const known = this.#refused.get(key);
    if (known === undefined) this.#refused.set(key, { refused, count: 1 });
    else known.count++;
    this.#summaryTimer ??= setTimeout(() => {
      this.#summarise();
    }, SUMMARY_MS);
  }

  #summarise(): void {
    clearTimeout(this.#summaryTimer);
    this.#summaryTimer = undefined;
    for (const { refused, count } of this.#refused.values()) {
      const { route, model, tenant, code } = refused;
      const metrics = this.#metrics;
      const { status } = ERRORS[code];
      const outcome = outcomeOf(status);
      metrics.count('shoal_http_requests_total', { route, status: String(status) }, count);
      metrics.count('inference_requests_total', { model, outcome }, count);
      metrics.count('shoal_tenant_requests_total', { tenant, outcome }, count);
      metrics.count('shoal_rejections_total', { model, reason: code }, count);
      this.#log.warn({ route, status, model, tenant, code, count }, 'requests refused');
    }
    this.#refused.clear();
  }

  flush(): void {
    this.#summarise();
    this.#writeReports();
  }

  #writeReports(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const reports = this.#reports;
    this.#reports = [];
    for (const report of reports) {
      recordMetrics(report, this.#metrics);
      logAt(report.endedAt, () => {
        writeLine(report, this.#log);
      });
    }
  }
}

function writeLine(
  { context, method, route, status, totalMs, isProbe }: RequestReport,
  log: Log,
): void {
  const { model, tenant, job, stagesMs, batchSize, errorCode } = context;
  const line: Record<string, unknown> = {
    request_id: context.id,
    method,
    route,
    status,
    total_ms: round(totalMs),
  };
  if (model !== undefined) {
    line['model'] = model;
    line['tenant'] = tenant?.name;
    line['outcome'] = outcomeOf(status);
  }
  if (job !== undefined) {
    line['job'] = job;
    line['tenant'] = tenant?.name;
  }
  for (const [stage, ms] of Object.entries(stagesMs)) line[`${stage}_ms`] = round(ms);
  if (batchSize !== undefined) line['batch_size'] = batchSize;
  if (errorCode !== undefined) line['code'] = errorCode;
  if (isProbe) log.debug(line, 'request');
  else if (status === 500) log.error(line, 'request');
  else if (status === 503) log.warn(line, 'request');
  else log.info(line, 'request');
}

function recordMetrics({ context, route, status, totalMs }: RequestReport, metrics: Metrics): void {
  metrics.count('shoal_http_requests_total', { route, status: String(status) });
  const { model, tenant, stagesMs, errorCode } = context;
  if (model === undefined) return;
  const labels = { model };
  const outcome = outcomeOf(status);
  metrics.count('inference_requests_total', { ...labels, outcome });
  if (tenant !== undefined) {
    metrics.count('shoal_tenant_requests_total', { tenant: tenant.name, outcome });
  }
  if (status === 429 || errorCode === 'gpu_memory_high') {
    metrics.count('shoal_rejections_total', { ...labels, reason: errorCode ?? 'unknown' });
  }
  if (status !== 200) return;
  metrics.observe('inference_latency_seconds', labels, totalMs / 1000);
  if (context.predictedMs !== undefined) {
    const errorMs = context.predictedMs - (totalMs - (stagesMs.receive ?? 0));
    metrics.observe('shoal_prediction_error_seconds', labels, errorMs / 1000);
  }
  for (const [stage, ms] of Object.entries(stagesMs)) {
    metrics.observe('shoal_stage_seconds', { ...labels, stage }, ms / 1000);
  }
}

/** A short closed list, so that it can be a metric label. */
function outcomeOf(status: number): string {
  if (status < 400) return 'ok';
  switch (status) {
    case 429:
      return 'rejected';
    case 499:
      return 'cancelled';
    case 503:
      return 'unavailable';
    case 504:
      return 'deadline';
    default:
      return status < 500 ? 'invalid' : 'error';
  }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
