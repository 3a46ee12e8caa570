/** After a rotation: the secret before it, sealed, and until when it signs as well. Both null, or neither. */
export interface SecretOverlap {
  previousSecretSealed: string | null;
  secretOverlapUntil: Date | null;
}

export const NO_OVERLAP: SecretOverlap = { previousSecretSealed: null, secretOverlapUntil: null };

/** What of an overlap is in force; one that has passed is none. */
export function overlapAt({ previousSecretSealed, secretOverlapUntil }: SecretOverlap, now: Date): SecretOverlap {
  const isInForce = secretOverlapUntil !== null && secretOverlapUntil > now;
  return isInForce ? { previousSecretSealed, secretOverlapUntil } : NO_OVERLAP;
}
