import { PartnerAccessDenied, type Caller } from '@rmm/access';
import { ValidationError } from '@rmm/service-kit';
import { resolvePartnerId } from './partner-scope.policy.js';

const caller = (scope: string, partnerId: string | null) => ({ tenant: { scope, partnerId } }) as unknown as Caller;

describe('resolvePartnerId', () => {
  it('returns the partner of the caller, also when it is repeated', () => {
    expect(resolvePartnerId(caller('partner', 'p1'), undefined)).toBe('p1');
    expect(resolvePartnerId(caller('partner', 'p1'), 'p1')).toBe('p1');
  });

  it('refuses another partner and a caller without one', () => {
    expect(() => resolvePartnerId(caller('partner', 'p1'), 'p2')).toThrow(PartnerAccessDenied);
    expect(() => resolvePartnerId(caller('organization', null), undefined)).toThrow(PartnerAccessDenied);
  });

  it('requires the partner in system scope', () => {
    expect(resolvePartnerId(caller('system', null), 'p2')).toBe('p2');
    expect(() => resolvePartnerId(caller('system', null), undefined)).toThrow(ValidationError);
  });
});
