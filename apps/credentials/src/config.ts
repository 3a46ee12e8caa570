import { readEnrollmentPeppers, readSecretsConfig, type EnrollmentPeppers, type SecretsConfig } from '@rmm/secrets';
import { readConfig, readFleetConfig, type FleetConfig } from '@rmm/service-kit';

export interface CredentialsConfig extends FleetConfig {
  enrollmentPeppers: EnrollmentPeppers;
  enrollmentKeyDefaultTtlMinutes: number;
  jwksUrl: string;
  /** Seals stored responses that contain a key. */
  secrets: SecretsConfig;
  idempotencyTtlHours: number;
}

/** Every variable of this service, read once. @see docs/reference/configuration.md */
export const readCredentialsConfig = (env: NodeJS.ProcessEnv): Readonly<CredentialsConfig> =>
  readConfig(env, (v) => {
    const fleet = readFleetConfig(v, 'credentials');
    return {
      ...fleet,
      enrollmentPeppers: readEnrollmentPeppers(v),
      jwksUrl: v.url('JWKS_URL', { protocols: ['http', 'https'], required: true }) ?? '',
      secrets: readSecretsConfig(v),
      idempotencyTtlHours: v.integer('IDEMPOTENCY_TTL_HOURS', { min: 1, max: 168, default: 24 }),
      enrollmentKeyDefaultTtlMinutes: v.integer('ENROLLMENT_KEY_DEFAULT_TTL_MINUTES', {
        min: 1,
        max: 525_600,
        default: 43_200,
      }),
    };
  });

/** Injection token of the service's own configuration. */
export const CREDENTIALS_CONFIG = Symbol('CREDENTIALS_CONFIG');
