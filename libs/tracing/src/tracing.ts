import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { ATTR_SERVICE_NAME, ATTR_SERVICE_VERSION } from '@opentelemetry/semantic-conventions';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { setSampleRatio } from './sampling.js';
import type { TracingConfig } from './tracing.config.js';

/** Stops recording; sends what is recorded first. */
export type StopTracing = () => Promise<void>;

/** Learns the outcome of each export. @param error  undefined when the collector accepted the spans */
export type ExportListener = (spans: number, error: Error | undefined) => void;

const EXPORT_TIMEOUT_MS = 5_000;
/** The time that the last spans have to reach the collector when the process stops. */
const STOP_TIMEOUT_MS = 2_000;

/**
 * Records the spans of this process and sends them to the collector of its configuration; does nothing without one. Spans
 * that the collector does not accept, or more than 2,048 that wait for it, are dropped: requests never wait for it.
 */
export function startTracing(
  config: TracingConfig,
  onExport: ExportListener,
  createExporter = createOtlpExporter,
): StopTracing {
  const { service, version, nodeEnv, otlpEndpoint, traceSampleRatio } = config;
  if (otlpEndpoint === undefined) return () => Promise.resolve();
  const exporter = observe(createExporter(config), onExport);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      [ATTR_SERVICE_NAME]: service,
      [ATTR_SERVICE_VERSION]: version,
      'service.namespace': 'rmm',
      'service.instance.id': randomUUID(),
      'deployment.environment.name': nodeEnv,
    }),
    sampler: new AlwaysOnSampler(), // startSpan decides before
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  });
  trace.setGlobalTracerProvider(provider);
  setSampleRatio(traceSampleRatio);
  return async () => {
    setSampleRatio(undefined);
    await Promise.race([provider.shutdown(), sleep(STOP_TIMEOUT_MS, undefined, { ref: false })]);
  };
}

const createOtlpExporter = ({ otlpEndpoint, otlpHeaders }: TracingConfig): SpanExporter =>
  new OTLPTraceExporter({
    url: `${otlpEndpoint}/v1/traces`,
    headers: parseHeaders(otlpHeaders),
    timeoutMillis: EXPORT_TIMEOUT_MS,
  });

/** Reads the format of `OTEL_EXPORTER_OTLP_HEADERS`. */
export const parseHeaders = (text = ''): Record<string, string> =>
  Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const [, name, value] = /^\s*([\w-]+)=(.+?)\s*$/.exec(pair) ?? [];
      return name === undefined ? [] : [[name, decodeURIComponent(value)]];
    }),
  );

function observe(exporter: SpanExporter, onExport: ExportListener): SpanExporter {
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        const isAccepted = Number(result.code) === EXPORTED;
        onExport(spans.length, isAccepted ? undefined : (result.error ?? new Error('The collector refused spans')));
        done(result);
      }),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => exporter.shutdown(),
  };
}

/** `ExportResultCode.SUCCESS` of `@opentelemetry/core`. */
const EXPORTED = 0;
