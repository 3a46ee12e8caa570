import { readSecretsConfig, type SecretsConfig } from '@rmm/secrets';
import {
  type FleetConfig,
  readConfig,
  readFleetConfig,
  readOutboundBlockedCidrs,
  readOutboundExtraAllowedCidrs,
} from '@rmm/service-kit';
import { type Cidr } from '@rmm/validation';

/** Injection token of `DispatcherConfig`. */
export const DISPATCHER_CONFIG = Symbol('DISPATCHER_CONFIG');

/** The settings of sending webhooks. @see docs/reference/configuration.md */
export interface DispatcherConfig {
  /** Time limit of an attempt, in milliseconds. */
  readonly timeoutMs: number;
  /** Concurrent attempts: of one webhook, to one origin, of one replica, of one organization. */
  readonly webhookConcurrency: number;
  readonly originConcurrency: number;
  readonly workerConcurrency: number;
  readonly organizationConcurrency: number;
  /** Origins with open connections; those of the least recently used one are closed first. */
  readonly maxOrigins: number;
  /** The longest `Retry-After` that is respected. */
  readonly retryAfterCapSeconds: number;
  /** After how many hours without a success a webhook is set to `failed`. */
  readonly autoFailAfterHours: number;
  /** Longer than any retry policy, so that no delivery is dropped while it waits for a retry. */
  readonly deliveryRetentionDays: number;
  /** Sends receivers the `traceparent` of their attempt. */
  readonly sendTraceparent: boolean;
}

export interface WebhookDispatcherConfig extends FleetConfig, SecretsConfig {
  jwksUrl: string;
  outboundExtraAllowedCidrs: Cidr[];
  outboundBlockedCidrs: Cidr[];
  dispatcher: DispatcherConfig;
}

/** Reads the variables of this service. @throws ConfigError  listing every problem. @see docs/reference/configuration.md */
export const readWebhookDispatcherConfig = (env: NodeJS.ProcessEnv): Readonly<WebhookDispatcherConfig> =>
  readConfig(env, (v) => {
    const fleet = readFleetConfig(v, 'webhook-dispatcher');
    const integer = (name: string, min: number, max: number, byDefault: number) =>
      v.integer(name, { min, max, default: byDefault });
    const sendTraceparent = v.boolean('WEBHOOK_SEND_TRACEPARENT', { default: false });
    if (sendTraceparent && fleet.otlpEndpoint === undefined) {
      v.problem('WEBHOOK_SEND_TRACEPARENT needs OTEL_EXPORTER_OTLP_ENDPOINT');
    }
    return {
      ...fleet,
      ...readSecretsConfig(v),
      jwksUrl: v.url('JWKS_URL', { protocols: ['http', 'https'], required: true }) ?? '',
      outboundExtraAllowedCidrs: readOutboundExtraAllowedCidrs(v, fleet),
      outboundBlockedCidrs: readOutboundBlockedCidrs(v),
      dispatcher: {
        timeoutMs: integer('WEBHOOK_TIMEOUT_MS', 1_000, 30_000, 30_000),
        webhookConcurrency: integer('WEBHOOK_CONCURRENCY', 1, 100, 10),
        originConcurrency: integer('WEBHOOK_ORIGIN_CONCURRENCY', 1, 1_000, 200),
        workerConcurrency: integer('WEBHOOK_WORKER_CONCURRENCY', 1, 10_000, 1_000),
        organizationConcurrency: integer('WEBHOOK_ORGANIZATION_CONCURRENCY', 1, 1_000, 100),
        maxOrigins: integer('WEBHOOK_MAX_ORIGINS', 10, 100_000, 1_000),
        retryAfterCapSeconds: integer('WEBHOOK_RETRY_AFTER_CAP_SECONDS', 0, 86_400, 3_600),
        autoFailAfterHours: integer('WEBHOOK_AUTO_FAIL_AFTER_HOURS', 1, 720, 120),
        deliveryRetentionDays: integer('WEBHOOK_DELIVERY_RETENTION_DAYS', 8, 365, 30),
        sendTraceparent,
      },
    };
  });
