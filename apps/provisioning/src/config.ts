import fs from 'node:fs';
import {
  hashKey,
  readEnrollmentPeppers,
  readSecretsConfig,
  type EnrollmentPeppers,
  type SecretsConfig,
} from '@rmm/secrets';
import {
  readConfig,
  readFleetConfig,
  readOutboundBlockedCidrs,
  readOutboundExtraAllowedCidrs,
  type ConfigReader,
  type FleetConfig,
} from '@rmm/service-kit';
import type { Cidr } from '@rmm/validation';

/** Injection token of `ProvisioningConfig`. */
export const PROVISIONING_CONFIG = Symbol('PROVISIONING_CONFIG');

export interface EnrollmentConfig {
  peppers: EnrollmentPeppers;
  /** SHA-256 of `AGENT_ENROLLMENT_SECRET`, required for keys without a secret of their own; null requires none. */
  fleetSecretHash: Buffer | null;
  /** `warn` logs what `enforce` refuses. */
  secretEnforcement: 'enforce' | 'warn';
}

/** The source of agent binaries: a folder of this machine, or another server. At most one of both is set. */
export interface AgentReleasesConfig {
  dir: string | null;
  /** Without a trailing slash. */
  url: string | null;
}

export interface DevPushConfig {
  enabled: boolean;
  /** All builds together that wait for their agents. */
  maxStoredBytes: number;
}

/** Every variable of the service. @see docs/reference/configuration.md */
export interface ProvisioningConfig extends FleetConfig {
  jwksUrl: string;
  enrollment: EnrollmentConfig;
  /** Seals the credentials of PSA connections, and signs cursors. */
  secrets: SecretsConfig;
  outboundExtraAllowedCidrs: Cidr[];
  outboundBlockedCidrs: Cidr[];
  /** Seconds without a heartbeat after which a device is offline. */
  deviceOfflineAfterSeconds: number;
  idempotencyTtlHours: number;
  agentReleases: AgentReleasesConfig;
  devPush: DevPushConfig;
}

/** Reads the environment. @throws ConfigError  listing every problem */
export const readProvisioningConfig = (env: NodeJS.ProcessEnv): Readonly<ProvisioningConfig> =>
  readConfig(env, (v) => {
    const fleet = readFleetConfig(v, 'provisioning');
    return {
      ...fleet,
      jwksUrl: v.url('JWKS_URL', { protocols: ['http', 'https'], required: true }),
      enrollment: readEnrollmentConfig(v),
      secrets: readSecretsConfig(v),
      outboundExtraAllowedCidrs: readOutboundExtraAllowedCidrs(v, fleet),
      outboundBlockedCidrs: readOutboundBlockedCidrs(v),
      deviceOfflineAfterSeconds: v.integer('DEVICE_OFFLINE_AFTER_SECONDS', { min: 60, max: 86_400, default: 300 }),
      idempotencyTtlHours: v.integer('IDEMPOTENCY_TTL_HOURS', { min: 1, max: 168, default: 24 }),
      agentReleases: readAgentReleasesConfig(v, fleet),
      devPush: {
        enabled: v.boolean('DEV_PUSH_ENABLED', { default: fleet.nodeEnv !== 'production' }),
        maxStoredBytes: v.integer('DEV_PUSH_MAX_STORED_MB', { min: 100, max: 100_000, default: 1_000 }) * 1024 * 1024,
      },
    };
  });

function readAgentReleasesConfig(v: ConfigReader, { publicApiUrl }: FleetConfig): AgentReleasesConfig {
  const dir = v.string('AGENT_RELEASE_DIR') ?? null;
  const url = v.url('AGENT_RELEASE_URL', { protocols: ['http', 'https'] })?.replace(/\/+$/, '') ?? null;
  if (dir !== null && url !== null) v.problem('AGENT_RELEASE_DIR and AGENT_RELEASE_URL must not both be set');
  if (url?.startsWith('http:') && publicApiUrl.startsWith('https:')) {
    v.problem('AGENT_RELEASE_URL must be https when PUBLIC_API_URL is');
  }
  if (dir !== null && !fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory()) {
    v.problem('AGENT_RELEASE_DIR must be a folder');
  }
  return { dir, url };
}

function readEnrollmentConfig(v: ConfigReader): EnrollmentConfig {
  const fleetSecret = v.string('AGENT_ENROLLMENT_SECRET', { secret: true });
  return {
    peppers: readEnrollmentPeppers(v),
    fleetSecretHash: fleetSecret === undefined ? null : hashKey(fleetSecret),
    secretEnforcement: v.enum('ENROLLMENT_SECRET_ENFORCEMENT_MODE', ['enforce', 'warn'], {
      default: 'enforce',
      ignoreCase: true,
    }),
  };
}
