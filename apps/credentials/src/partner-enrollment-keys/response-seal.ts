import { IdempotentResponseNotStored, type ResponseSeal } from '@rmm/persistence';
import { type KeyRing, UnsealFailed } from '@rmm/secrets';

/** Long enough for a client that repeats a request whose response was lost; then the stored key is erased. */
const SEALED_SECONDS = 600;

/** Returns the seal of a stored response that contains a key: it opens for its own idempotency key only. */
export function responseSeal(keyRing: KeyRing, requestId: string): ResponseSeal {
  const context = `idempotency_record.response:${requestId}`;
  return {
    seconds: SEALED_SECONDS,
    seal: (response) => keyRing.seal(response, context),
    open: (stored) => {
      try {
        return keyRing.open(stored, context);
      } catch (error) {
        if (error instanceof UnsealFailed) throw new IdempotentResponseNotStored(undefined, { cause: error });
        throw error;
      }
    },
  };
}
