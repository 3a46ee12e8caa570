import { AddressRules } from './address-rules.js';

const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });

/** One way to carry an IPv4 address inside an IPv6 one; `a00:1` is 10.0.0.1. */
const CHECKED_BY_INNER: [form: string, of: (hex: string, dotted: string) => string][] = [
  ['mapped', (hex) => `::ffff:${hex}`],
  ['mapped, dotted', (_, dotted) => `::ffff:${dotted}`],
  ['mapped, in full', (hex) => `0:0:0:0:0:FFFF:${hex}`],
  ['NAT64', (hex) => `64:ff9b::${hex}`],
  ['NAT64, dotted', (_, dotted) => `64:ff9b::${dotted}`],
  ['NAT64, in full', (hex) => `0064:FF9B:0:0:0:0:${hex}`],
  ['6to4', (hex) => `2002:${hex}::1`],
  ['Teredo server', (hex) => `2001:0:${hex}:0:0:f7f7:f7f7`],
];

/** Forms that are blocked with every embedded address. */
const NEVER: [form: string, of: (hex: string, dotted: string) => string][] = [
  ['compatible', (hex) => `::${hex}`],
  ['compatible, dotted', (_, dotted) => `::${dotted}`],
  ['translated (SIIT)', (hex) => `::ffff:0:${hex}`],
  ['local NAT64 /96', (hex) => `64:ff9b:1::${hex}`],
  ['local NAT64 with a subnet', (hex) => `64:ff9b:1:abcd::${hex}`],
  ['local NAT64 /48 layout', () => '64:ff9b:1:808:8:800::'],
  ['additional NAT64', (hex) => `64:ff9b:0:1::${hex}`],
  ['additional NAT64', (hex) => `64:ff9c::${hex}`],
];

const INNER: [hex: string, dotted: string, hosted: boolean, selfHosted: boolean][] = [
  ['7f00:1', '127.0.0.1', false, false],
  ['a9fe:a9fe', '169.254.169.254', false, false],
  ['6464:64c8', '100.100.100.200', false, false],
  ['a83f:8110', '168.63.129.16', false, false],
  ['0:0', '0.0.0.0', false, false],
  ['e000:1', '224.0.0.1', false, false],
  ['ffff:ffff', '255.255.255.255', false, false],
  ['a00:1', '10.0.0.1', false, true],
  ['c0a8:101', '192.168.1.1', false, true],
  ['808:808', '8.8.8.8', true, true],
];

const rows = (forms: typeof NEVER) =>
  forms.flatMap(([form, of]) =>
    INNER.map(([hex, dotted, ...allowed]) => [form, of(hex, dotted), dotted, ...allowed] as const),
  );

describe('IPv6 hosts', () => {
  it.each(rows(CHECKED_BY_INNER).filter(([form, , dotted]) => form !== 'Teredo server' || !/^(10|192)\./.test(dotted)))(
    '%s: %s is classified by %s',
    (_form, address, _dotted, onHosted, onSelfHosted) => {
      expect(hosted.checkUrl(`https://[${address}]/`).allowed).toBe(onHosted);
      expect(selfHosted.checkUrl(`https://[${address}]/`).allowed).toBe(onSelfHosted);
    },
  );

  it.each(rows(NEVER))('%s: %s is refused, with %s inside', (_form, address) => {
    expect(hosted.checkUrl(`https://[${address}]/`).allowed).toBe(false);
    expect(selfHosted.checkUrl(`https://[${address}]/`).allowed).toBe(false);
  });

  // The client address of Teredo is stored with every bit turned: 80ff:fffe is 127.0.0.1, f5ff:fffe is 10.0.0.1.
  it.each([
    ['a loopback client', '2001:0:808:808:0:0:80ff:fffe'],
    ['a metadata client', '2001:0:808:808:0:0:5601:5601'],
    ['a private client behind a public server', '2001:0:808:808:0:0:f5ff:fffe'],
    ['a public client behind a private server', '2001:0:a00:1:0:0:f7f7:f7f7'],
  ])('Teredo with %s is refused', (_what, address) => {
    expect(hosted.checkUrl(`https://[${address}]/`).allowed).toBe(false);
    expect(selfHosted.checkUrl(`https://[${address}]/`).allowed).toBe(false);
    expect(selfHosted.checkUrl(`http://[${address}]/`).allowed).toBe(false);
  });

  it.each(['0:5efe', '200:5efe'])(
    'an address with an ISATAP interface id (%s) is refused for its outer and its inner address',
    (id) => {
      const around = (prefix: string, hex: string) => `https://[${prefix}:${id}:${hex}]/`;
      for (const bad of ['7f00:1', 'a9fe:a9fe', 'a00:1']) {
        expect(hosted.checkUrl(around('2606:4700:0:0', bad)).allowed).toBe(false);
        expect(selfHosted.checkUrl(around('2606:4700:0:0', bad)).allowed).toBe(false);
      }
      expect(hosted.checkUrl(around('2606:4700:0:0', '808:808')).allowed).toBe(true);
      expect(selfHosted.checkUrl(around('fd12:0:0:0', 'a00:1')).allowed).toBe(true);
      expect(selfHosted.checkUrl(around('fd12:0:0:0', '7f00:1')).allowed).toBe(false);
      expect(selfHosted.checkUrl(around('fe80:0:0:0', 'a00:1')).allowed).toBe(false);
    },
  );

  it.each([
    ['fe80::1%25eth0', 'a zone'],
    ['fe80::1%eth0', 'a zone'],
    ['::1%25lo', 'a zone'],
    ['2606:4700::1111%25eth0', 'a zone'],
    ['1::2::3', 'two gaps'],
    ['::ffff:127.1', 'a short IPv4 tail'],
    ['::ffff:0x7f.0.0.1', 'a hex IPv4 tail'],
    ['::ffff:0177.0.0.1', 'an octal IPv4 tail'],
    ['::ffff:127.0.0.256', 'a tail out of range'],
    ['12345::1', 'five digits'],
    ['0:0:0:0:0:0:0:0:1', 'nine parts'],
    ['::1]:80[', 'brackets inside'],
    ['[::1]', 'brackets twice'],
    ['127.0.0.1', 'IPv4 in brackets'],
    ['localhost', 'a name in brackets'],
    ['', 'nothing'],
    ['v1.fe80::a+en1', 'a future form'],
    ['：：１', 'full-width digits'],
    ['%3a%3a1', 'percent-encoding'],
  ])('[%s] is no host (%s)', (host) => {
    expect(hosted.checkUrl(`https://[${host}]/`)).toEqual({ allowed: false, reasons: ['it is not a valid URL'] });
  });

  it.each(['https://::1/', 'https://[::1', 'https://::1]/', 'https://2606:4700::1111/', 'https://[::1]x/'])(
    '%s lacks a bracket',
    (url) => expect(hosted.checkUrl(url)).toEqual({ allowed: false, reasons: ['it is not a valid URL'] }),
  );

  it.each([
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000:0000:0000:0000:0000:0000:0001]',
    '[::0.0.0.1]',
    '[::1]:8443',
    'user@[::1]',
    '[::]',
    '[0::]',
    '[FE80::1]',
    '[febf::1]',
    '[FEC0::1]',
    '[FF02::1]',
    '[fD00:0eC2::0254]',
    '[fd20:ce::254]',
    '[4000::1]',
    '[1fff::1]',
    '[e000::1]',
  ])('%s is refused everywhere', (host) => {
    expect(hosted.checkUrl(`https://${host}/`).allowed).toBe(false);
    expect(selfHosted.checkUrl(`https://${host}/`).allowed).toBe(false);
  });

  it.each(['[2606:4700:4700::1111]', '[2001:4860:4860::8888]', '[2A00:1450:4001:0:0:0:0:1]', '[2001:200::1]'])(
    '%s is taken everywhere, over https',
    (host) => {
      expect(hosted.checkUrl(`https://${host}/`).allowed).toBe(true);
      expect(selfHosted.checkUrl(`https://${host}/`).allowed).toBe(true);
      expect(selfHosted.checkUrl(`http://${host}/`).allowed).toBe(false);
    },
  );
});
