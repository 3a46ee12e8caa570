import { PartnerAccessDenied, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';

/**
 * The partner a caller acts for: a system caller names it, everybody else has one and may at most repeat it.
 * @throws ValidationError, PartnerAccessDenied
 */
export function partnerFor(caller: Caller, named: string | undefined): string {
  const own = caller.tenant.partnerId;
  if (caller.tenant.scope === 'system') {
    if (named === undefined) throw ValidationError.of('partnerId', 'is required in system scope');
    return named;
  }
  if (own === null || (named !== undefined && named !== own)) throw new PartnerAccessDenied();
  return own;
}
