import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { FleetConfig } from '@rmm/config';
import { startTracing, type StopTracing } from '@rmm/tracing';
import { Logger } from '../logging/logger.service.js';
import { MetricsRegistry } from '../metrics/metrics-registry.service.js';
import { FLEET_CONFIG } from '../tokens.js';

/** Records traces from the start of a service until it has stopped. */
@Injectable()
export class TracingLifecycle implements OnModuleInit, OnApplicationShutdown {
  private readonly spans;
  private isFailing = false;
  private stop?: StopTracing;

  constructor(
    @Inject(FLEET_CONFIG) private readonly config: FleetConfig,
    private readonly logger: Logger,
    metrics: MetricsRegistry,
  ) {
    this.spans = metrics.counter({
      name: 'rmm_trace_spans_total',
      help: 'Spans of recorded traces that the collector accepted, or that were dropped since it did not',
      labelNames: ['result'],
    });
  }

  onModuleInit(): void {
    this.stop = startTracing(this.config, (spans, error) => this.observeExport(spans, error));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stop?.();
  }

  /** Logs the first of several failures. */
  private observeExport(spans: number, err: Error | undefined): void {
    this.spans.inc({ result: err ? 'dropped' : 'sent' }, spans);
    if (err && !this.isFailing) this.logger.warn({ err }, 'traces cannot be sent to the collector; they are dropped');
    this.isFailing = err !== undefined;
  }
}
