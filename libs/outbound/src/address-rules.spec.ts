import { AddressRules } from './address-rules.js';

const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });
const withLoopback = new AddressRules({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });

const HTTPS = new URL('https://a.example/');
const HTTP = new URL('http://a.example/');

const reasons = (check: { allowed: boolean; reasons?: string[] }) => (check.allowed ? [] : check.reasons);

describe('checkUrl', () => {
  it.each([
    'ftp://example.com',
    'file:///etc/passwd',
    'gopher://example.com',
    'data:text/plain,x',
    'javascript:alert(1)',
    'example.com',
    '',
    'https://',
    'https://[fe80::1%25eth0]/',
    'https://exa mple.com/',
  ])('refuses %p in every deployment', (url) => {
    expect(hosted.checkUrl(url).allowed).toBe(false);
    expect(withLoopback.checkUrl(url).allowed).toBe(false);
  });

  it.each([
    'https://localhost/',
    'https://LOCALHOST./',
    'https://foo.localhost/',
    'https://ⓛocalhost/',
    'https://printer.local/',
    'https://printer.local./',
  ])('refuses the name of %s in every deployment', (url) => {
    expect(hosted.checkUrl(url).allowed).toBe(false);
    expect(selfHosted.checkUrl(url).allowed).toBe(false);
    expect(withLoopback.checkUrl(url).allowed).toBe(false);
  });

  it.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://127.0.0.1./',
    'https://１２７。０。０。１/',
    'https://[::1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::7f00:1]/',
    'https://good@127.0.0.1/',
    'https:127.0.0.1',
    'https://127.0.0.1:8443/',
    'https://169.254.169.254/latest/meta-data',
    'https://[fd00:ec2::254]/',
  ])('recognizes the notation of %s', (url) => {
    const check = hosted.checkUrl(url);
    expect(check.allowed).toBe(false);
    expect(selfHosted.checkUrl(url).allowed).toBe(false);
  });

  it('allows https to a public name or address on any port except 0', () => {
    expect(hosted.checkUrl('https://hooks.example.com:6379/a?b=c#d')).toMatchObject({ allowed: true, literal: null });
    expect(hosted.checkUrl('https://8.8.8.8/')).toMatchObject({ allowed: true, literal: '8.8.8.8' });
    expect(hosted.checkUrl('https://[2606:4700::1111]/')).toMatchObject({ allowed: true, literal: '2606:4700::1111' });
    expect(reasons(hosted.checkUrl('https://example.com:0/'))).toEqual(['port 0 is not a port']);
  });

  it('checks the host of the parsed URL after a backslash', () => {
    const check = selfHosted.checkUrl('https://good.example\\@127.0.0.1/');
    expect(check).toMatchObject({ allowed: true, url: { hostname: 'good.example' } });
  });

  it('drops the fragment and the final dot', () => {
    const check = hosted.checkUrl('https://hooks.example.com./a?b=c#d');
    expect(check.allowed && check.url.href).toBe('https://hooks.example.com/a?b=c');
  });

  it.each(['https://a..b/', 'https://-a.example.com/', `https://${'a'.repeat(64)}.example.com/`])(
    'refuses the labels of %s',
    (url) => expect(reasons(hosted.checkUrl(url))).toEqual(['the host is not a valid name']),
  );

  it('allows private targets and local names in self-hosted deployments only', () => {
    for (const url of [
      'https://10.0.0.1/',
      'https://[fd12::1]/',
      'https://redis/',
      'https://metadata.google.internal/',
    ]) {
      expect(hosted.checkUrl(url).allowed).toBe(false);
    }
    for (const url of ['https://10.0.0.1/', 'http://192.168.1.5/', 'http://[fd12::1]/', 'https://nas/']) {
      expect(selfHosted.checkUrl(url).allowed).toBe(true);
    }
  });

  it('allows http to private addresses in self-hosted deployments only', () => {
    expect(reasons(selfHosted.checkUrl('http://8.8.8.8/'))).toEqual([
      'plain http is allowed for private addresses only',
    ]);
    expect(reasons(hosted.checkUrl('http://8.8.8.8/'))).toEqual(['only https is allowed']);
    expect(reasons(hosted.checkUrl('http://example.com/'))).toEqual(['only https is allowed']);
    expect(selfHosted.checkUrl('http://127.0.0.1/').allowed).toBe(false);
    expect(withLoopback.checkUrl('http://127.0.0.1:4000/').allowed).toBe(true);
    expect(withLoopback.checkUrl('http://[::1]/').allowed).toBe(false);
  });
});

describe('checkAddresses', () => {
  it('refuses a name without addresses', () => {
    expect(reasons(hosted.checkAddresses(HTTPS, []))).toEqual(['the host has no address']);
  });

  it('refuses the URL when one address is forbidden', () => {
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '2606:4700::1111']).allowed).toBe(true);
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '127.0.0.1']).allowed).toBe(false);
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '10.0.0.1']).allowed).toBe(false);
    expect(selfHosted.checkAddresses(HTTPS, ['8.8.8.8', '10.0.0.1']).allowed).toBe(true);
  });

  it('allows http only when every address is private', () => {
    expect(selfHosted.checkAddresses(HTTP, ['10.0.0.1', 'fd12::1']).allowed).toBe(true);
    expect(selfHosted.checkAddresses(HTTP, ['10.0.0.1', '8.8.8.8']).allowed).toBe(false);
  });

  it('returns reasons without addresses', () => {
    expect(JSON.stringify(hosted.checkAddresses(HTTP, ['10.11.12.13', '127.0.0.1']))).not.toMatch(/10\.11|127\.0/);
  });
});

describe('the host of our API', () => {
  const ownRules = (ownUrl: string, isHosted = true) =>
    new AddressRules({ isHosted, ownUrl, extraAllowedCidrs: ['127.0.0.0/8'] });

  it.each(['https://api.fleet.example/hooks', 'https://API.fleet.example.:8443/', 'https://ＡＰＩ.fleet.example/'])(
    'is refused in %s',
    (url) => expect(reasons(ownRules('https://api.fleet.example').checkUrl(url))).toEqual(['the host is this service']),
  );

  it('does not refuse its neighbors', () => {
    for (const host of ['fleet.example', 'hooks.fleet.example', 'x.api.fleet.example', 'api.fleet.example.org']) {
      expect(ownRules('https://api.fleet.example').checkUrl(`https://${host}/`).allowed).toBe(true);
    }
  });

  it('is refused on its port when it is an address, also behind a name', () => {
    const rules = ownRules('http://127.0.0.1:8080', false);
    expect(reasons(rules.checkUrl('http://127.0.0.1:8080/'))).toEqual(['the host is this service']);
    expect(reasons(rules.checkUrl('http://2130706433:8080/'))).toEqual(['the host is this service']);
    expect(reasons(rules.checkAddresses(new URL('http://a.example:8080/'), ['127.0.0.1']))).toContain(
      'the host is this service',
    );
    expect(rules.checkUrl('http://127.0.0.1:9000/').allowed).toBe(true);
    const onDefaultPort = ownRules('https://8.8.8.8');
    expect(onDefaultPort.checkUrl('https://8.8.8.8:443/').allowed).toBe(false);
    expect(onDefaultPort.checkAddresses(HTTPS, ['::ffff:8.8.8.8']).allowed).toBe(false);
    expect(onDefaultPort.checkUrl('https://8.8.8.8:444/').allowed).toBe(true);
  });
});

describe('blocked ranges of the configuration', () => {
  const rules = new AddressRules({
    isHosted: false,
    blockedCidrs: ['10.42.0.0/16', '2600:1f00::/24', '203.0.114.7'],
    extraAllowedCidrs: ['10.42.0.0/16'],
  });

  it.each(['https://10.42.1.1/', 'https://[2600:1f00::1]/', 'https://203.0.114.7/', 'https://[::ffff:10.42.0.1]/'])(
    'are refused in %s',
    (url) => expect(reasons(rules.checkUrl(url))).toEqual(['the host is in a blocked address range']),
  );

  it('are refused behind a name', () => {
    expect(rules.checkAddresses(HTTPS, ['8.8.8.8', '10.42.0.1']).allowed).toBe(false);
    expect(rules.checkAddresses(HTTPS, ['8.8.8.8', '10.43.0.1']).allowed).toBe(true);
  });
});
