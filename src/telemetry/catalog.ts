/**
 * Every metric, once. `docs/metrics.md` lists the same ones, which a test checks. Labels are few
 * and closed: models are those loaded at start, everything else is a fixed list.
 */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
  /** How the values of several processes become one; `sum` where nothing is said. */
  readonly together?: 'max';
}

/** 1 ms to 1 s: from a tiny model's decode to a slow model's batch. */
const STAGE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];

/** 10 ms to a day: from an idle server to a backlog. */
const JOB_BUCKETS = [0.01, 0.05, 0.25, 1, 5, 30, 120, 600, 3600, 21_600, 86_400];

export const METRICS = {
  inference_requests_total: {
    type: 'counter',
    help: 'Predict requests by what became of them.',
    labels: ['model', 'outcome'],
  },
  inference_latency_seconds: {
    type: 'histogram',
    help: 'Time from the first byte of an answered predict request to its answer.',
    labels: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  },
  inference_batch_size: {
    type: 'histogram',
    help: 'Images per batch that ran.',
    labels: ['model'],
    buckets: [1, 2, 4, 8, 16, 32, 64, 128],
  },
  shoal_stage_seconds: {
    type: 'histogram',
    help: 'Time per stage of an answered predict request.',
    labels: ['model', 'stage'],
    buckets: STAGE_BUCKETS,
  },
  shoal_rejections_total: {
    type: 'counter',
    help: 'Predict requests refused to protect the server.',
    labels: ['model', 'reason'],
  },
  shoal_dropped_items_total: {
    type: 'counter',
    help: 'Images that nobody wanted any more and that were not computed, by where they were.',
    labels: ['model', 'reason', 'stage'],
  },
  shoal_saved_compute_seconds_total: {
    type: 'counter',
    help: 'Computing that was saved by dropping images that nobody wanted any more.',
    labels: ['model', 'reason'],
  },
  shoal_wasted_compute_seconds_total: {
    type: 'counter',
    help: 'Computing spent on images that nobody wanted any more when they were done.',
    labels: ['model'],
  },
  shoal_batches_total: {
    type: 'counter',
    help: 'Batches by the kind of session they ran on: narrow ones side by side, or the wide one.',
    labels: ['model', 'session'],
  },
  shoal_prediction_error_seconds: {
    type: 'histogram',
    help: 'Time to the answer as predicted at admission, less the time it really took.',
    labels: ['model'],
    buckets: [-0.5, -0.25, -0.1, -0.05, -0.025, -0.01, 0, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
  },
  shoal_quarantine_total: {
    type: 'counter',
    help: 'Images put in quarantine because they kill engines, and requests refused for it.',
    labels: ['model', 'event'],
  },
  shoal_quarantined_images: {
    type: 'gauge',
    help: 'Images in quarantine.',
    labels: ['model'],
  },
  shoal_drift_ratio: {
    type: 'gauge',
    help: 'Time of recent batches over what was measured when the plan was made.',
    labels: ['model'],
  },
  shoal_tenant_requests_total: {
    type: 'counter',
    help: 'Predict requests by tenant (API key) and what became of them.',
    labels: ['tenant', 'outcome'],
  },
  shoal_jobs: {
    type: 'gauge',
    help: 'Jobs in the store by state; shared by all servers on one Redis.',
    labels: ['state'],
  },
  shoal_jobs_oldest_waiting_seconds: {
    type: 'gauge',
    help: 'Age of the oldest job that could run and does not. 0 without one.',
    labels: [],
  },
  shoal_job_state_seconds: {
    type: 'histogram',
    help: 'Time that jobs run here spent in a state: queued until this try, running in this try.',
    labels: ['model', 'state'],
    buckets: JOB_BUCKETS,
  },
  shoal_job_attempts_total: {
    type: 'counter',
    help: 'Runs of jobs in this process by how they ended; `retry` is tried again.',
    labels: ['model', 'outcome'],
  },
  shoal_jobs_submitted_total: {
    type: 'counter',
    help: 'Jobs accepted here.',
    labels: ['model'],
  },
  shoal_job_store_up: {
    type: 'gauge',
    help: '1 while jobs can be written.',
    labels: [],
  },
  shoal_job_store_bytes: {
    type: 'gauge',
    help: 'What images, results and records of jobs occupy.',
    labels: [],
  },
  shoal_webhooks_pending: {
    type: 'gauge',
    help: 'Finished jobs whose receiver has not been told yet.',
    labels: [],
  },
  shoal_queue_depth: {
    type: 'gauge',
    help: 'Images that wait for a place in the engine.',
    labels: ['model'],
  },
  shoal_in_flight: {
    type: 'gauge',
    help: 'Images in the engine.',
    labels: ['model'],
  },
  shoal_request_bytes: {
    type: 'gauge',
    help: 'Bytes of all requests that are being received or answered.',
    labels: [],
  },
  shoal_webhook_deliveries_total: {
    type: 'counter',
    help: 'Attempts to deliver a webhook by what became of them: delivered, retried or abandoned.',
    labels: ['outcome'],
  },
  shoal_engine_up: {
    type: 'gauge',
    help: '1 while the engine can serve.',
    labels: ['model', 'provider'],
  },
  shoal_engine_restarts_total: {
    type: 'counter',
    help: 'Engines replaced after a crash or a hang.',
    labels: ['model'],
  },
  shoal_engine_recycled_total: {
    type: 'counter',
    help: 'Engines replaced without a crash because they held too much memory, by which.',
    labels: ['model', 'reason'],
  },
  shoal_canaries_total: {
    type: 'counter',
    help: 'Known pictures given to engines by what came back: ok, wrong or unanswered.',
    labels: ['model', 'outcome'],
  },
  shoal_engine_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of the engine process.',
    labels: ['model'],
  },
  shoal_gpu_memory_used_bytes: {
    type: 'gauge',
    help: 'Memory in use on a GPU that a model runs on, by whomever. Absent when it is not known.',
    labels: ['gpu'],
  },
  shoal_gpu_memory_total_bytes: {
    type: 'gauge',
    help: 'Memory of that GPU.',
    labels: ['gpu'],
  },
  shoal_gpu_memory_own_bytes: {
    type: 'gauge',
    help: 'Memory of that GPU that the engines of this server hold. Absent when it is not known.',
    labels: ['gpu'],
  },
  shoal_gpu_utilization_ratio: {
    type: 'gauge',
    help: 'Share of the time in which that GPU computed, 0 to 1.',
    labels: ['gpu'],
  },
  shoal_gpu_memory_known: {
    type: 'gauge',
    help: '1 while the memory in use on that GPU is known; 0 when nothing tells it.',
    labels: ['gpu'],
  },
  shoal_gpu_memory_high: {
    type: 'gauge',
    help: '1 while more of that memory is in use than gpu_memory_high.',
    labels: ['gpu'],
  },
  shoal_http_requests_total: {
    type: 'counter',
    help: 'HTTP requests by route and status.',
    labels: ['route', 'status'],
  },
  shoal_event_loop_delay_seconds: {
    type: 'gauge',
    help: 'Delay of the HTTP event loop over the last ten seconds; of several, the slowest.',
    labels: ['quantile'],
    together: 'max',
  },
  shoal_http_workers: {
    type: 'gauge',
    help: 'Processes that receive requests.',
    labels: [],
  },
  shoal_http_worker_restarts_total: {
    type: 'counter',
    help: 'Processes that receive requests, replaced because they had ended or did not answer.',
    labels: [],
  },
  shoal_log_lines_dropped_total: {
    type: 'counter',
    help: 'Log lines that were left out because nobody read standard output in time.',
    labels: [],
  },
  shoal_process_memory_bytes: {
    type: 'gauge',
    help: 'Resident memory of the HTTP process, or of all of them.',
    labels: [],
  },
  shoal_draining: {
    type: 'gauge',
    help: '1 while the server shuts down.',
    labels: [],
  },
} as const satisfies Record<string, MetricSpec>;

export type MetricName = keyof typeof METRICS;
type Labels<Name extends MetricName> = Record<(typeof METRICS)[Name]['labels'][number], string>;
type NamesOf<Kind extends MetricSpec['type']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['type'] extends Kind ? Name : never;
}[MetricName];

export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;
export type { Labels };
