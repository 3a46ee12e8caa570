import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import prometheus from 'prom-client';
import type { ServiceName } from '@rmm/contracts';
import { SERVICE_NAME } from '../tokens.js';

interface MetricOptions<L extends string> {
  name: string;
  help: string;
  labelNames?: readonly L[];
}

/** The time that a gauge has to read its value; longer than a health check may take; in milliseconds. */
const COLLECT_TIMEOUT_MS = 3_000;

/** The Prometheus metrics of this process at `/metrics`. Our names begin with `rmm_`; labels have few values. */
@Injectable()
export class MetricsRegistry {
  readonly registry: prometheus.Registry<prometheus.RegistryContentType> = new prometheus.Registry();

  constructor(@Inject(SERVICE_NAME) service: ServiceName) {
    this.registry.setDefaultLabels({ service });
  }

  counter<L extends string>(options: MetricOptions<L>): prometheus.Counter<L> {
    return new prometheus.Counter({ ...options, registers: [this.registry] });
  }

  /**
   * `collect` sets the value when Prometheus asks. When it fails or takes longer than three seconds, the gauge keeps its last
   * value and the other metrics are still served.
   */
  gauge<L extends string>(
    options: MetricOptions<L> & { collect?: (this: prometheus.Gauge<L>) => void | Promise<void> },
  ): prometheus.Gauge<L> {
    const { collect, ...others } = options;
    const limited: typeof collect = collect && keepLastValue(collect);
    return new prometheus.Gauge({ ...others, ...(limited && { collect: limited }), registers: [this.registry] });
  }

  /** Serves the format OpenMetrics; histograms created afterwards may have exemplars, such as trace ids. */
  useOpenMetrics(): void {
    this.registry.setContentType(prometheus.openMetricsContentType);
  }

  /** `buckets` in the unit of the name, seconds as a rule. */
  histogram<L extends string>(
    options: MetricOptions<L> & { buckets?: number[]; enableExemplars?: boolean },
  ): prometheus.Histogram<L> {
    return new prometheus.Histogram({ ...options, registers: [this.registry] });
  }

  /** CPU, memory, garbage collection, handles and event-loop delay of this process. */
  collectProcessMetrics(): void {
    prometheus.collectDefaultMetrics({ register: this.registry });
  }
}

function keepLastValue<L extends string>(collect: (this: prometheus.Gauge<L>) => void | Promise<void>) {
  return function (this: prometheus.Gauge<L>): void | Promise<void> {
    const collected = collect.call(this);
    if (!(collected instanceof Promise)) return;
    return Promise.race([collected.catch(() => undefined), sleep(COLLECT_TIMEOUT_MS, undefined, { ref: false })]);
  };
}
