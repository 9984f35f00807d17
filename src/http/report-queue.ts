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

const FLUSH_MS = 50;

/**
 * Log lines and metrics of finished requests, written a few at a time. While both cores compute,
 * the caches hold other things: twenty reports in a row cost as much as three on their own.
 */
export class ReportQueue {
  readonly #log: Log;
  readonly #metrics: Metrics;
  #reports: RequestReport[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(log: Log, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  add(report: RequestReport): void {
    this.#reports.push(report);
    this.#timer ??= setTimeout(() => {
      this.flush();
    }, FLUSH_MS);
  }

  flush(): void {
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
  const { model, stagesMs, batchSize, errorCode } = context;
  const line: Record<string, unknown> = {
    request_id: context.id,
    method,
    route,
    status,
    total_ms: round(totalMs),
  };
  if (model !== undefined) {
    line['model'] = model.name;
    line['outcome'] = outcomeOf(status);
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
  const { model, stagesMs, errorCode } = context;
  if (model === undefined) return;
  const labels = { model: model.name };
  metrics.count('inference_requests_total', { ...labels, outcome: outcomeOf(status) });
  if (status === 429) {
    metrics.count('shoal_rejections_total', { ...labels, reason: errorCode ?? 'unknown' });
  }
  if (status !== 200) return;
  metrics.observe('inference_latency_seconds', labels, totalMs / 1000);
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
