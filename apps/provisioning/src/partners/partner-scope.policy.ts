import { PartnerAccessDenied, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';

/**
 * Returns the partner a caller acts for: a system caller names it, other callers have one and may only repeat it.
 * @throws ValidationError, PartnerAccessDenied
 */
export function resolvePartnerId(caller: Caller, requestedId: string | undefined): string {
  const { scope, partnerId } = caller.tenant;
  if (scope === 'system') {
    if (requestedId === undefined) throw ValidationError.forField('partnerId', 'is required in system scope');
    return requestedId;
  }
  if (partnerId === null || (requestedId !== undefined && requestedId !== partnerId)) throw new PartnerAccessDenied();
  return partnerId;
}
