import { AddressRules } from './address-rules.js';

const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });
const withLoopback = new AddressRules({ isHosted: false, extraAllowedCidrs: ['127.0.0.0/8'] });

const HTTPS = new URL('https://a.example/');
const HTTP = new URL('http://a.example/');

const reasons = (verdict: { allowed: boolean; reasons?: string[] }) => (verdict.allowed ? [] : verdict.reasons);

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
  ])('refuses %p everywhere', (url) => {
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
  ])('refuses the name of %s everywhere', (url) => {
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
  ])('sees through the spelling of %s', (url) => {
    const verdict = hosted.checkUrl(url);
    expect(verdict.allowed).toBe(false);
    expect(selfHosted.checkUrl(url).allowed).toBe(false);
  });

  it('takes https to a public name or address, any port but 0', () => {
    expect(hosted.checkUrl('https://hooks.example.com:6379/a?b=c#d')).toMatchObject({ allowed: true, literal: null });
    expect(hosted.checkUrl('https://8.8.8.8/')).toMatchObject({ allowed: true, literal: '8.8.8.8' });
    expect(hosted.checkUrl('https://[2606:4700::1111]/')).toMatchObject({ allowed: true, literal: '2606:4700::1111' });
    expect(reasons(hosted.checkUrl('https://example.com:0/'))).toEqual(['port 0 is not a port']);
  });

  it('takes the host from the parsed URL where a back-slash hides it', () => {
    const verdict = selfHosted.checkUrl('https://good.example\\@127.0.0.1/');
    expect(verdict).toMatchObject({ allowed: true, url: { hostname: 'good.example' } });
  });

  it('drops the fragment and the final dot', () => {
    const verdict = hosted.checkUrl('https://hooks.example.com./a?b=c#d');
    expect(verdict.allowed && verdict.url.href).toBe('https://hooks.example.com/a?b=c');
  });

  it.each(['https://a..b/', 'https://-a.example.com/', `https://${'a'.repeat(64)}.example.com/`])(
    'refuses the labels of %s',
    (url) => expect(reasons(hosted.checkUrl(url))).toEqual(['the host is not a valid name']),
  );

  it('keeps private targets and names of local networks for self-hosted fleets', () => {
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

  it('takes plain http for private literals of self-hosted fleets only', () => {
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
  it('refuses a name without an answer', () => {
    expect(reasons(hosted.checkAddresses(HTTPS, []))).toEqual(['the host has no address']);
  });

  it('refuses all answers when one is bad', () => {
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '2606:4700::1111']).allowed).toBe(true);
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '127.0.0.1']).allowed).toBe(false);
    expect(hosted.checkAddresses(HTTPS, ['8.8.8.8', '10.0.0.1']).allowed).toBe(false);
    expect(selfHosted.checkAddresses(HTTPS, ['8.8.8.8', '10.0.0.1']).allowed).toBe(true);
  });

  it('takes plain http only when every answer is private', () => {
    expect(selfHosted.checkAddresses(HTTP, ['10.0.0.1', 'fd12::1']).allowed).toBe(true);
    expect(selfHosted.checkAddresses(HTTP, ['10.0.0.1', '8.8.8.8']).allowed).toBe(false);
  });

  it('names no address in its reasons', () => {
    expect(JSON.stringify(hosted.checkAddresses(HTTP, ['10.11.12.13', '127.0.0.1']))).not.toMatch(/10\.11|127\.0/);
  });
});
