import { canonicalRange } from './address-range.js';

describe('an address range of a policy', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    [' 10.1.2.3/8 ', '10.0.0.0/8'],
    ['198.51.100.77/26', '198.51.100.64/26'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['203.0.113.7/32', '203.0.113.7/32'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
    ['2001:db8:ffff::1/33', '2001:db8:8000::/33'],
    ['::/0', '::/0'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
  ])('%s has the canonical form %s', (text, canonical) => expect(canonicalRange(text)).toBe(canonical));

  it.each(['', 'x', '10/8', '010.0.0.1', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '::1/129'])(
    '%j is not valid',
    (text) => expect(canonicalRange(text)).toBeNull(),
  );

  it.each(['fe80::1%eth0', '::ffff:10.0.0.0/90', '0x0a.0.0.1', '10.0.0.1-10.0.0.9'])('%j is not valid', (text) =>
    expect(canonicalRange(text)).toBeNull(),
  );
});
