import { randomUUID } from 'node:crypto';
import type { ForwardedIdempotency } from '@rmm/contracts';
import type { HasTenant } from '@rmm/persistence';
import { currentContext, type IdempotentRequest, runInContext } from '@rmm/service-kit';

/** Returns the idempotency key of the current request in the form in which the owner of its effect gets it. */
export function forwardedIdempotency(): ForwardedIdempotency | null {
  const request = currentContext()?.idempotency;
  return request ? { id: request.id, callerId: request.callerId, bodyHash: request.bodyHash } : null;
}

/**
 * Runs the effect of a request that another service received, under the idempotency key of that request. The use case runs
 * its effect in `idempotency.once(tx, work)`.
 * @returns the response, and whether it is the stored one of an earlier request
 */
export async function runForwarded<T>(
  forwarded: ForwardedIdempotency | null,
  { tenant: { partnerId, orgId } }: HasTenant,
  work: () => Promise<T>,
): Promise<{ record: T; replayed: boolean }> {
  if (forwarded === null) return { record: await work(), replayed: false };
  const idempotency: IdempotentRequest = { ...forwarded, partnerId, orgId, replayed: false };
  const record = await runInContext({ requestId: randomUUID(), ...currentContext(), idempotency }, work);
  return { record, replayed: idempotency.replayed };
}
