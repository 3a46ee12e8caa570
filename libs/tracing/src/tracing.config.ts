/** The settings of a process, which are part of its configuration. @see docs/reference/configuration.md */
export interface TracingConfig {
  service: string;
  /** The release, as the build names it. */
  version: string;
  nodeEnv: string;
  /** Base URL of an OpenTelemetry collector (OTLP over HTTP); without one nothing is recorded. */
  otlpEndpoint?: string;
  /** Headers of the requests to it: `name=value` with a percent-encoded value, separated by commas. */
  otlpHeaders?: string;
  /** Share of traces that are recorded, 0 to 1. */
  traceSampleRatio: number;
}
