export interface IdempotencyOptions {
  /** Hours for which a response is stored: IDEMPOTENCY_TTL_HOURS. */
  ttlHours: number;
}

/** Injects the `IdempotencyOptions` of the service. */
export const IDEMPOTENCY_OPTIONS = Symbol('IDEMPOTENCY_OPTIONS');
