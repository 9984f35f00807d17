import { Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type Labels,
  type MetricName,
  METRICS,
  type MetricSpec,
} from './catalog.js';

/** The only place that touches prom-client. Every server has a registry of its own. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #metrics = new Map<MetricName, Metric>();
  readonly #collectors: (() => void)[] = [];

  constructor() {
    for (const [name, spec] of Object.entries(METRICS) as [MetricName, MetricSpec][]) {
      const options = {
        name,
        help: spec.help,
        labelNames: [...spec.labels],
        registers: [this.#registry],
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

  observe<Name extends HistogramName>(name: Name, labels: Labels<Name>, value: number): void {
    (this.#metrics.get(name) as Histogram).observe(labels, value);
  }

  /** Gauges that show a state are set just before they are read, so they cannot drift. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async render(): Promise<string> {
    for (const collect of this.#collectors) collect();
    return this.#registry.metrics();
  }
}

function createMetric(
  spec: MetricSpec,
  options: { name: string; help: string; labelNames: string[]; registers: Registry[] },
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
