import { Inject, Injectable } from '@nestjs/common';
import prometheus from 'prom-client';
import type { ServiceName } from '@rmm/contracts';
import { SERVICE_NAME } from '../tokens.js';

interface MetricOptions<L extends string> {
  name: string;
  help: string;
  labelNames?: readonly L[];
}

/** The Prometheus metrics of this process at `/metrics`. Our names begin with `rmm_`; labels have few values. */
@Injectable()
export class MetricsRegistry {
  readonly registry = new prometheus.Registry();

  constructor(@Inject(SERVICE_NAME) service: ServiceName) {
    this.registry.setDefaultLabels({ service });
  }

  counter<L extends string>(options: MetricOptions<L>): prometheus.Counter<L> {
    return new prometheus.Counter({ ...options, registers: [this.registry] });
  }

  /** `collect` sets the value when Prometheus asks. */
  gauge<L extends string>(
    options: MetricOptions<L> & { collect?: (this: prometheus.Gauge<L>) => void | Promise<void> },
  ): prometheus.Gauge<L> {
    return new prometheus.Gauge({ ...options, registers: [this.registry] });
  }

  /** `buckets` in the unit of the name, seconds as a rule. */
  histogram<L extends string>(options: MetricOptions<L> & { buckets?: number[] }): prometheus.Histogram<L> {
    return new prometheus.Histogram({ ...options, registers: [this.registry] });
  }

  /** CPU, memory, garbage collection, handles and event-loop delay of this process. */
  collectProcessMetrics(): void {
    prometheus.collectDefaultMetrics({ register: this.registry });
  }
}
