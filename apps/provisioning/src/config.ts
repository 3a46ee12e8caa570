import { enrollmentPeppers, hashKey, type EnrollmentPeppers } from '@rmm/secrets';
import { readConfig, readFleetConfig, type ConfigReader, type FleetConfig } from '@rmm/service-kit';

/** Injection token of `ProvisioningConfig`. */
export const PROVISIONING_CONFIG = Symbol('PROVISIONING_CONFIG');

export interface EnrollmentConfig {
  peppers: EnrollmentPeppers;
  /** SHA-256 of `AGENT_ENROLLMENT_SECRET`, asked of keys that have no secret of their own; null asks for none. */
  fleetSecretHash: Buffer | null;
  /** `warn` only logs what `enforce` refuses. */
  secretEnforcement: 'enforce' | 'warn';
}

/** Every variable of the service, read once. @see CONTRACT.md 10 */
export interface ProvisioningConfig extends FleetConfig {
  jwksUrl: string;
  enrollment: EnrollmentConfig;
}

/** @throws ConfigError  listing every problem at once */
export const readProvisioningConfig = (env: NodeJS.ProcessEnv): Readonly<ProvisioningConfig> =>
  readConfig(env, (v) => ({
    ...readFleetConfig(v, 'provisioning'),
    jwksUrl: v.url('JWKS_URL', { protocols: ['http', 'https'], required: true }),
    enrollment: readEnrollmentConfig(v, env),
  }));

function readEnrollmentConfig(v: ConfigReader, env: NodeJS.ProcessEnv): EnrollmentConfig {
  const fleetSecret = v.string('AGENT_ENROLLMENT_SECRET', { secret: true });
  return {
    peppers: readPeppers(v, env),
    fleetSecretHash: fleetSecret === undefined ? null : hashKey(fleetSecret),
    secretEnforcement: v.enum('ENROLLMENT_SECRET_ENFORCEMENT_MODE', ['enforce', 'warn'], {
      default: 'enforce',
      ignoreCase: true,
    }),
  };
}

function readPeppers(v: ConfigReader, env: NodeJS.ProcessEnv): EnrollmentPeppers {
  try {
    return enrollmentPeppers(env);
  } catch (error) {
    v.problem((error as Error).message);
    return { current: '', legacy: [] };
  }
}
