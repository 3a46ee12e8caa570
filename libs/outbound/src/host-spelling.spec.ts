import { AddressRules } from './address-rules.js';

const MODES = [
  ['hosted', new AddressRules({ isHosted: true })],
  ['self-hosted', new AddressRules({ isHosted: false })],
] as const;

/** Notations by the address they mean; each is refused in both modes. */
const SPELLINGS: Record<string, [what: string, host: string][]> = {
  '127.0.0.1': [
    ['short', '127.1'],
    ['short', '127.0.1'],
    ['decimal', '2130706433'],
    ['hex', '0x7f000001'],
    ['hex in parts', '0x7f.0x0.0x0.0x1'],
    ['hex and short', '0x7F.1'],
    ['octal', '017700000001'],
    ['octal in parts', '0177.0.0.01'],
    ['octal with padding', '00000177.0.0.1'],
    ['mixed bases', '0177.0.0x0.1'],
    ['full-width digits', '１２７.０.０.１'],
    ['full-width hex', '０ｘ７ｆ.１'],
    ['circled digits', '①②⑦.⓪.⓪.①'],
    ['full-width dots', '127．0．0．1'],
    ['ideographic dots', '127。0。0。1'],
    ['half-width dots', '127｡0｡0｡1'],
    ['percent-encoding', '%31%32%37.0.0.1'],
    ['percent-encoded dots', '127%2e0%2E0%2e1'],
    ['percent-encoded full-width digits', '%EF%BC%91%32%37.0.0.1'],
    ['a soft hyphen', '127\u00ad.0.0.1'],
    ['a zero-width space', '127.0\u200b.0.1'],
    ['a tab', '127.\t0.0.1'],
    ['a newline', '127.0.\r\n0.1'],
    ['a trailing dot', '127.0.0.1.'],
    ['a trailing dot, decimal', '2130706433.'],
    ['a trailing dot, percent-encoded', '127.0.0.1%2e'],
    ['userinfo', 'good.example@127.0.0.1'],
    ['userinfo with a password', 'good.example:443@127.0.0.1'],
    ['userinfo twice', 'a@good.example@127.0.0.1'],
    ['userinfo with an encoded hash', 'good.example%23@127.0.0.1'],
    ['userinfo with an encoded slash', 'good.example%2f@127.0.0.1'],
    ['a fragment after it', '127.0.0.1#@good.example'],
    ['a query after it', '127.0.0.1?@good.example'],
    ['a back-slash after it', '127.0.0.1\\@good.example'],
    ['a port', '127.0.0.1:8443'],
    ['the default port', '127.0.0.1:443'],
    ['a padded port', '127.0.0.1:000443'],
    ['an empty port', '127.0.0.1:'],
  ],
  '0.0.0.0': [
    ['one part', '0'],
    ['hex without digits', '0x'],
    ['hex without digits in parts', '0x.0x.0'],
  ],
  '169.254.169.254': [
    ['decimal', '2852039166'],
    ['hex', '0xA9FEA9FE'],
    ['hex in parts', '0xA9.0xFE.0xA9.0xFE'],
    ['octal with padding', '0251.00376.000251.0000376'],
    ['mixed bases', '0251.254.169.254'],
    ['short', '169.16689662'],
  ],
  '255.255.255.255': [['decimal', '4294967295']],
};

/** Scheme and slashes in the forms the parser repairs. */
const OPENINGS = [
  'https:',
  'https:/',
  'https://',
  'https:///',
  'https:\\\\',
  'HTTPS://',
  ' \thttps://',
  '\u0000https://',
];

/** Texts that are not hosts. */
const NO_HOST = [
  '',
  ':443',
  'user:pass@',
  '@',
  '1.2.3.4.5',
  '127.0.0.08',
  '256.256.256.256',
  '425.510.425.510',
  '4294967296',
  '7147006462',
  '0x41414141A9FEA9FE',
  'foo.0x7f',
  'foo.127',
  '127.0.0.1 ',
  '127.0.0.1%20',
  'localhost%00',
  'a%2fb.example',
  'good.example%40127.0.0.1',
  '\u202elocalhost',
  'example.com:99999',
  'example.com:65536',
  'example.com:+80',
  'example.com:１',
  'example.com:80x',
];

/** Names that the parser accepts and no name server resolves. */
const BAD_NAMES = [
  '.',
  '...',
  '.example.com',
  'a..example.com',
  'example.com..',
  '127.0.0.1..',
  '2130706433..',
  '127.0.0.1%2e%2e',
  'a.localhost..',
  '-a.example.com',
  'a-.example.com',
  'a*b.example.com',
  "a'b.example.com",
  'a$b.example.com',
  `${'a'.repeat(64)}.example.com`,
  `${'abcdefgh.'.repeat(28)}com`,
];

describe.each(MODES)('the host, %s', (_mode, rules) => {
  it.each(Object.entries(SPELLINGS).flatMap(([address, rows]) => rows.map((row) => [address, ...row] as const)))(
    'sees %s through %s: %j',
    (address, _what, host) => {
      const url = `https://${host}`;
      expect(new URL(url).hostname).toBe(address);
      expect(rules.checkUrl(url)).toEqual({ allowed: false, reasons: ['the host is in a blocked address range'] });
    },
  );

  it.each(OPENINGS)('sees the host behind %j', (opening) => {
    expect(rules.checkUrl(`${opening}127.0.0.1/x`).allowed).toBe(false);
    expect(rules.checkUrl(`${opening}hooks.example.com/x`)).toMatchObject({
      allowed: true,
      url: { href: 'https://hooks.example.com/x' },
    });
  });

  it.each(NO_HOST)('finds no URL in the host %j', (host) => {
    expect(rules.checkUrl(`https://${host}/`)).toEqual({ allowed: false, reasons: ['it is not a valid URL'] });
  });

  it.each(['xn--', 'xn--a', 'xn--a.example.com'])('reads %j, which decodes to nothing, as this Node does', (host) => {
    const check = rules.checkUrl(`https://${host}/`);
    // No host to most, a name like any other to those with ada 4: one that cannot be registered.
    if (!URL.canParse(`https://${host}/`)) expect(check).toMatchObject({ reasons: ['it is not a valid URL'] });
    else if (check.allowed) expect(check).toMatchObject({ literal: null, url: { hostname: host } });
    else expect(check.reasons).toEqual([expect.stringMatching(/^the host .* name$/)]);
  });

  it.each(BAD_NAMES)('refuses the name %j', (host) => {
    expect(rules.checkUrl(`https://${host}/`).allowed).toBe(false);
  });

  it('takes the host before a back-slash, and calls that one', () => {
    const check = rules.checkUrl('https://good.example\\@127.0.0.1/');
    expect(check).toMatchObject({ allowed: true, url: { hostname: 'good.example', pathname: '/@127.0.0.1/' } });
  });

  it.each([
    ['HOOKS.Example.COM', 'hooks.example.com'],
    ['hooks.example.com.', 'hooks.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['faß.example', 'xn--fa-hia.example'],
    ['ｈooks。example．com', 'hooks.example.com'],
    ['a_b.example.com', 'a_b.example.com'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['1e100.net', '1e100.net'],
    ['127.0.0.1.example.com', '127.0.0.1.example.com'],
    ['o177.0.0.1.example', 'o177.0.0.1.example'],
    [`${'a'.repeat(63)}.example.com`, `${'a'.repeat(63)}.example.com`],
  ])('resolves the name %j as %s', (host, ascii) => {
    expect(rules.checkUrl(`https://${host}/`)).toMatchObject({
      allowed: true,
      literal: null,
      url: { hostname: ascii },
    });
  });

  it.each(['1', '22', '25', '80', '6379', '8443', '65535'])('takes port %s', (port) => {
    expect(rules.checkUrl(`https://hooks.example.com:${port}/`)).toMatchObject({ allowed: true, url: { port } });
  });

  it.each(['https://example.com:0/', 'https://example.com:000/', 'https://8.8.8.8:0/'])('refuses %s', (url) => {
    expect(rules.checkUrl(url)).toEqual({ allowed: false, reasons: ['port 0 is not a port'] });
  });

  it.each(['ftp', 'file', 'gopher', 'data', 'ws', 'wss', 'javascript', 'blob', 'about', 'jar', 'dict', 'ldap', 'unix'])(
    'refuses the scheme %s',
    (scheme) => {
      for (const rest of ['//8.8.8.8/', '//hooks.example.com/', 'x', 'https://hooks.example.com/']) {
        expect(rules.checkUrl(`${scheme}:${rest}`).allowed).toBe(false);
      }
    },
  );

  it('reads no URL against a base', () => {
    for (const text of ['//8.8.8.8/', '/path', 'hooks.example.com', '8.8.8.8', '?x', '#x', ' ']) {
      expect(rules.checkUrl(text)).toEqual({ allowed: false, reasons: ['it is not a valid URL'] });
    }
  });
});
