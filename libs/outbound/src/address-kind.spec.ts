import ipaddr from 'ipaddr.js';
import { addressKind } from './address-kind.js';

describe('addressKind', () => {
  it.each(['8.8.8.8', '1.1.1.1', '172.15.255.255', '172.32.0.0', '192.169.0.1', '100.63.255.255', '100.128.0.0'])(
    '%s is public',
    (address) => expect(addressKind(address)).toBe('public'),
  );

  it.each(['2606:4700::1111', '2a00:1450:4001::1'])('%s is public', (address) =>
    expect(addressKind(address)).toBe('public'),
  );

  it.each(['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd12:3456::1', '::ffff:10.0.0.1'])(
    '%s is private',
    (address) => expect(addressKind(address)).toBe('private'),
  );

  it.each([
    ['0.0.0.0', '0/8'],
    ['127.0.0.1', '127/8'],
    ['127.255.255.255', '127/8'],
    ['169.254.169.254', '169.254/16'],
    ['169.254.170.2', '169.254/16'],
    ['100.64.0.1', '100.64/10'],
    ['100.100.100.200', 'metadata'],
    ['192.0.0.1', '192.0.0/24'],
    ['192.0.0.192', 'metadata'],
    ['192.0.2.1', '192.0.2/24'],
    ['192.88.99.1', '192.88.99/24'],
    ['198.18.0.1', '198.18/15'],
    ['198.19.255.255', '198.18/15'],
    ['198.51.100.1', '198.51.100/24'],
    ['203.0.113.1', '203.0.113/24'],
    ['224.0.0.1', '224/4'],
    ['240.0.0.1', '240/4'],
    ['255.255.255.255', 'broadcast'],
    ['168.63.129.16', 'platform'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'fe80::/10'],
    ['fec0::1', 'fec0::/10'],
    ['ff02::1', 'ff00::/8'],
    ['2001:db8::1', 'documentation'],
    ['3fff::1', 'documentation'],
    ['5f00::1', 'segment routing'],
    ['100::1', 'discard'],
    ['2001:20::1', 'ORCHID'],
    ['fd00:ec2::254', 'metadata inside ULA'],
    ['fd20:ce::254', 'metadata inside ULA'],
    ['::7f00:1', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'mapped'],
    ['::ffff:7f00:1', 'mapped'],
    ['::ffff:0:7f00:1', 'SIIT'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['64:ff9b:1::8.8.8.8', 'local NAT64'],
    ['2002:7f00:1::', '6to4'],
    ['2001:0:7f00:1::f7f7:f7f7', 'Teredo with a bad server'],
    ['2001:0:808:808::80ff:fffe', 'Teredo with a bad client'],
    ['2606:4700::5efe:127.0.0.1', 'ISATAP'],
    ['2606:4700::200:5efe:169.254.169.254', 'ISATAP'],
    ['fe80::1%eth0', 'zone'],
    ['127.1', 'short form'],
    ['0x7f000001', 'hex form'],
    ['', 'nothing'],
    ['example.com', 'a name'],
  ])('%p is blocked (%s)', (address) => expect(addressKind(address)).toBe('blocked'));

  it.each([
    ['::ffff:8.8.8.8', 'mapped'],
    ['64:ff9b::8.8.8.8', 'NAT64'],
    ['2002:808:808::1', '6to4'],
    ['2001:0:808:808::f7f7:f7f7', 'Teredo'],
  ])('%s is classified by its embedded public address (%s)', (address) => expect(addressKind(address)).toBe('public'));

  it('allows configured ranges, also in mapped form, and nothing else', () => {
    const extra = { extraAllowed: [ipaddr.parseCIDR('127.0.0.0/8')] };
    expect(addressKind('127.0.0.1', extra)).toBe('extra');
    expect(addressKind('::ffff:127.0.0.1', extra)).toBe('extra');
    expect(addressKind('::1', extra)).toBe('blocked');
    expect(addressKind('169.254.169.254', extra)).toBe('blocked');
  });

  it('blocks configured ranges in every form, also where they are allowed', () => {
    const range = (cidr: string) => ipaddr.parseCIDR(cidr);
    const ranges = {
      extraAllowed: [range('127.0.0.0/8')],
      blocked: [range('127.0.0.9/32'), range('8.8.8.0/24'), range('10.1.0.0/16'), range('2600:1f00::/24')],
    };
    for (const address of [
      '127.0.0.9',
      '8.8.8.8',
      '::ffff:8.8.8.8',
      '64:ff9b::8.8.8.8',
      '2002:808:808::1',
      '10.1.2.3',
      '2600:1f00::5',
      '2606:4700::5efe:808:808',
    ]) {
      expect([address, addressKind(address, ranges)]).toEqual([address, 'blocked']);
    }
    expect(['127.0.0.1', '8.8.4.4', '10.2.0.1'].map((address) => addressKind(address, ranges))).toEqual([
      'extra',
      'public',
      'private',
    ]);
  });
});
