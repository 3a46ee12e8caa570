/** Environment variables of the peppers; an empty text counts as unset. */
export interface PepperEnvironment {
  NODE_ENV?: string | undefined;
  ENROLLMENT_KEY_PEPPER?: string | undefined;
  APP_ENCRYPTION_KEY?: string | undefined;
  SECRET_ENCRYPTION_KEY?: string | undefined;
  JWT_SECRET?: string | undefined;
}

export interface EnrollmentPeppers {
  /** Hashes new keys. */
  current: string;
  /** Tried after `current`, in this order, for keys hashed before an upgrade. */
  legacy: string[];
}

/** Never used in production. Constant, so that development services agree on it without configuration. */
const DEVELOPMENT_PEPPER = 'development-enrollment-pepper';

/**
 * Returns the peppers of enrollment keys: `ENROLLMENT_KEY_PEPPER`, else the first legacy secret that is set.
 * @throws Error 'No enrollment key pepper configured'  in production, when none of the four is set
 */
export function enrollmentPeppers(env: PepperEnvironment): EnrollmentPeppers {
  const set = [env.ENROLLMENT_KEY_PEPPER, env.APP_ENCRYPTION_KEY, env.SECRET_ENCRYPTION_KEY, env.JWT_SECRET].filter(
    (value): value is string => value !== undefined && value !== '',
  );
  const [current, ...legacy] = [...new Set(set)];
  if (current !== undefined) return { current, legacy };
  if (env.NODE_ENV === 'production') throw new Error('No enrollment key pepper configured');
  return { current: DEVELOPMENT_PEPPER, legacy: [] };
}
