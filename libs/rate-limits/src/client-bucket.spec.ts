import { addressBucket, clientBucket } from './client-bucket.js';

describe('clientBucket', () => {
  it('returns the address for IPv4 and the /64 for IPv6', () => {
    expect(addressBucket('198.51.100.7')).toBe('198.51.100.7');
    expect(addressBucket('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
    expect(addressBucket('2001:db8:1:2:ffff::1')).toBe(addressBucket('2001:db8:1:2::9'));
    expect(addressBucket('2001:db8:1:3::9')).not.toBe(addressBucket('2001:db8:1:2::9'));
    expect(addressBucket('::ffff:198.51.100.7')).toBe('198.51.100.7');
  });

  it('returns a fingerprint when no address is known', () => {
    const headers = { 'user-agent': 'x', 'accept-language': 'de', origin: 'https://a' };
    expect(clientBucket({ headers })).toBe(clientBucket({ headers: { ...headers } }));
    expect(clientBucket({ headers })).not.toBe(clientBucket({ headers: { ...headers, origin: 'https://b' } }));
    expect(clientBucket({ address: '1.2.3.4', headers })).toBe('1.2.3.4');
  });
});
