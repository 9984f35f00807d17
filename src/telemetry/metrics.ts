import {
  AggregatorRegistry,
  Counter,
  Gauge,
  Histogram,
  type Metric,
  type MetricObject,
  Registry,
} from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type Labels,
  type MetricName,
  METRICS,
  type MetricSpec,
} from './catalog.js';
import type { EventLoopMonitor } from './event-loop.js';
import { takeDroppedLines } from './log.js';

/** The values of another process, as JSON. */
export type MetricValues = readonly object[];

/** The only place that touches prom-client. Every server has a registry of its own. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #metrics = new Map<MetricName, Metric>();
  readonly #collectors: (() => void)[] = [];
  #gather: (() => Promise<MetricValues[]>) | undefined;

  constructor() {
    for (const [name, spec] of Object.entries(METRICS) as [MetricName, MetricSpec][]) {
      const options = {
        name,
        help: spec.help,
        labelNames: [...spec.labels],
        registers: [this.#registry],
        aggregator: spec.together ?? ('sum' as const),
      };
      this.#metrics.set(name, createMetric(spec, options));
    }
  }

  count<Name extends CounterName>(name: Name, labels: Labels<Name>, by = 1): void {
    (this.#metrics.get(name) as Counter).inc(labels, by);
  }

  set<Name extends GaugeName>(name: Name, labels: Labels<Name>, value: number): void {
    (this.#metrics.get(name) as Gauge).set(labels, value);
  }

  /** Forgets all series of a metric with labels. */
  clear(name: GaugeName): void {
    (this.#metrics.get(name) as Gauge).reset();
  }

  observe<Name extends HistogramName>(name: Name, labels: Labels<Name>, value: number): void {
    (this.#metrics.get(name) as Histogram).observe(labels, value);
  }

  /** Gauges that show a state are set just before they are read, so they cannot drift. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  /** Other processes whose values are shown together with those of this one. */
  onGather(gather: () => Promise<MetricValues[]>): void {
    this.#gather = gather;
  }

  /** What every process knows about itself. */
  observeProcess(eventLoop: EventLoopMonitor): void {
    this.set('shoal_process_memory_bytes', {}, process.memoryUsage.rss());
    this.count('shoal_log_lines_dropped_total', {}, takeDroppedLines());
    for (const [quantile, seconds] of Object.entries(eventLoop.delaySeconds)) {
      this.set('shoal_event_loop_delay_seconds', { quantile }, seconds);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The values of this process alone. */
  async read(): Promise<MetricValues> {
    for (const collect of this.#collectors) collect();
    return this.#registry.getMetricsAsJSON();
  }

  async render(): Promise<string> {
    const others = (await this.#gather?.()) ?? [];
    if (others.length > 0) {
      const all = [await this.read(), ...others] as MetricObject[][];
      return AggregatorRegistry.aggregate(all).metrics();
    }
    for (const collect of this.#collectors) collect();
    return this.#registry.metrics();
  }
}

/** The values of several processes as those of one. */
export async function addUp(all: readonly MetricValues[]): Promise<MetricValues> {
  return AggregatorRegistry.aggregate(all as MetricObject[][]).getMetricsAsJSON();
}

/** What stays true of a process that is gone: what it has counted, but not how it was. */
export function lastingOf(values: MetricValues): MetricValues {
  const gauges = new Set(
    Object.entries(METRICS).flatMap(([name, { type }]) => (type === 'gauge' ? [name] : [])),
  );
  return values.filter((metric) => !gauges.has((metric as MetricObject).name));
}

function createMetric(
  spec: MetricSpec,
  options: {
    name: string;
    help: string;
    labelNames: string[];
    registers: Registry[];
    aggregator: 'sum' | 'max';
  },
): Metric {
  switch (spec.type) {
    case 'counter':
      return new Counter(options);
    case 'gauge':
      return new Gauge(options);
    case 'histogram':
      return new Histogram({ ...options, buckets: [...(spec.buckets ?? [])] });
  }
}
