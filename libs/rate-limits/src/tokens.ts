/** Injects the `RateLimitsConfig` of the process. */
export const RATE_LIMITS_CONFIG = Symbol('RATE_LIMITS_CONFIG');
/** Injects the `LimitsRedis` of the process. */
export const LIMITS_REDIS = Symbol('LIMITS_REDIS');
/** Injects the `LimitsObserver` of the process; optional. */
export const LIMITS_OBSERVER = Symbol('LIMITS_OBSERVER');
