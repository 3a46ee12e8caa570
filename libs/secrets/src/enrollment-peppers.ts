import type { ConfigReader } from '@rmm/config';

export interface EnrollmentPeppers {
  /** Hashes new keys. */
  current: string;
  /** Tried after `current`, in this order, for keys hashed before an upgrade. */
  legacy: string[];
}

/** `ENROLLMENT_KEY_PEPPER`, then the secrets that older versions used in its place. */
const VARIABLES = ['ENROLLMENT_KEY_PEPPER', 'APP_ENCRYPTION_KEY', 'SECRET_ENCRYPTION_KEY', 'JWT_SECRET'];
/** Never used in production. Constant, so that development services agree on it without configuration. */
const DEVELOPMENT_PEPPER = 'development-enrollment-pepper';

/** Reads the peppers of enrollment keys; the first variable that is set is the current one. Production needs one. */
export function readEnrollmentPeppers(v: ConfigReader): EnrollmentPeppers {
  const secrets = VARIABLES.flatMap((name) => v.string(name, { secret: true }) ?? []);
  const [current, ...legacy] = [...new Set(secrets)];
  if (current !== undefined) return { current, legacy };
  if (v.string('NODE_ENV') === 'production') v.problem('No enrollment key pepper configured');
  return { current: DEVELOPMENT_PEPPER, legacy: [] };
}
