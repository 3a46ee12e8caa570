import { isAddressAllowed, type EnteredTenant } from './address-list.policy.js';

const partner = (ipAllowlist?: string[]): EnteredTenant => ({
  scope: 'partner',
  partnerId: 'p',
  orgId: null,
  partnerSecurity: ipAllowlist ? { ipAllowlist } : null,
});

describe('isAddressAllowed', () => {
  it.each([
    ['a listed address', '192.0.2.7', true],
    ['an address of a listed range', '198.51.100.200', true],
    ['an address of a listed IPv6 range', '2001:db8::1', true],
    ['an IPv4 address in its IPv6 form', '::ffff:192.0.2.7', true],
    ['an address outside of the list', '203.0.113.1', false],
    ['an unknown address', undefined, false],
  ])('decides about %s', (_, address, allowed) => {
    const list = ['192.0.2.7', '198.51.100.0/24', '2001:db8::/32'];
    expect(isAddressAllowed(partner(list), address)).toBe(allowed);
  });

  it('accepts any address where the partner has no list', () => {
    expect(isAddressAllowed(partner(), undefined)).toBe(true);
    expect(isAddressAllowed(partner([]), '203.0.113.1')).toBe(true);
  });

  it('accepts no address when the list has no readable entry', () => {
    expect(isAddressAllowed(partner(['nonsense']), '203.0.113.1')).toBe(false);
  });

  it("applies the list of the partner to its organizations' members, and none in system scope", () => {
    const list = partner(['192.0.2.7']);
    expect(isAddressAllowed({ ...list, scope: 'organization', orgId: 'o' }, '203.0.113.1')).toBe(false);
    expect(isAddressAllowed({ ...list, scope: 'system' }, '203.0.113.1')).toBe(true);
  });
});
