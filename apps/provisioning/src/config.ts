import {
  hashKey,
  readEnrollmentPeppers,
  readSecretsConfig,
  type EnrollmentPeppers,
  type SecretsConfig,
} from '@rmm/secrets';
import { readConfig, readFleetConfig, type ConfigReader, type FleetConfig } from '@rmm/service-kit';

/** Injection token of `ProvisioningConfig`. */
export const PROVISIONING_CONFIG = Symbol('PROVISIONING_CONFIG');

export interface EnrollmentConfig {
  peppers: EnrollmentPeppers;
  /** SHA-256 of `AGENT_ENROLLMENT_SECRET`, required for keys without a secret of their own; null requires none. */
  fleetSecretHash: Buffer | null;
  /** `warn` logs what `enforce` refuses. */
  secretEnforcement: 'enforce' | 'warn';
}

/** Every variable of the service. @see docs/reference/configuration.md */
export interface ProvisioningConfig extends FleetConfig {
  jwksUrl: string;
  enrollment: EnrollmentConfig;
  /** Signs cursors. */
  secrets: SecretsConfig;
  /** Seconds without a heartbeat after which a device is offline. */
  deviceOfflineAfterSeconds: number;
  idempotencyTtlHours: number;
}

/** Reads the environment. @throws ConfigError  listing every problem */
export const readProvisioningConfig = (env: NodeJS.ProcessEnv): Readonly<ProvisioningConfig> =>
  readConfig(env, (v) => ({
    ...readFleetConfig(v, 'provisioning'),
    jwksUrl: v.url('JWKS_URL', { protocols: ['http', 'https'], required: true }),
    enrollment: readEnrollmentConfig(v),
    secrets: readSecretsConfig(v),
    deviceOfflineAfterSeconds: v.integer('DEVICE_OFFLINE_AFTER_SECONDS', { min: 60, max: 86_400, default: 300 }),
    idempotencyTtlHours: v.integer('IDEMPOTENCY_TTL_HOURS', { min: 1, max: 168, default: 24 }),
  }));

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
