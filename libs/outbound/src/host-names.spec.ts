import { AddressRules } from './address-rules.js';

const hosted = new AddressRules({ isHosted: true });
const selfHosted = new AddressRules({ isHosted: false });
const open = new AddressRules({ isHosted: false, extraAllowedCidrs: ['0.0.0.0/0', '::/0'] });

const url = (host: string) => `https://${host}/`;

describe('names', () => {
  it.each([
    'localhost',
    'LOCALHOST',
    'LocalHost',
    'localhost.',
    'localhost%2e',
    'lo%63alhost',
    'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
    'ｌｏｃａｌｈｏｓｔ',
    'lo\u00adcalhost',
    'lo\u200bcalhost',
    'lo\tcal\nhost',
    'localhost:8080',
    'user:pass@localhost',
    'foo.localhost',
    'foo.bar.localhost.',
    'foo。localhost',
    'FOO.LOCALHOST',
    '127.0.0.1.localhost',
    'example.com.localhost',
  ])('refuses %j everywhere', (host) => {
    for (const rules of [hosted, selfHosted, open]) {
      expect(rules.checkUrl(url(host))).toEqual({ allowed: false, reasons: ['localhost is not allowed'] });
    }
  });

  it.each([
    'local',
    'local.',
    'printer.local',
    'printer.local.',
    'PRINTER.LOCAL',
    'a.b.c.local',
    'printer。ｌｏｃａｌ',
    'db.default.svc.cluster.local',
    'kubernetes.default.svc.cluster.local.',
    'example.com.local',
  ])('refuses %j everywhere', (host) => {
    for (const rules of [hosted, selfHosted, open]) {
      expect(rules.checkUrl(url(host))).toEqual({ allowed: false, reasons: ['names under .local are not allowed'] });
    }
  });

  it.each([
    'redis',
    'redis.',
    'kubernetes',
    'metadata',
    'instance-data',
    'rancher-metadata',
    'kubernetes.default.svc',
    'metadata.google.internal',
    'METADATA.GOOGLE.INTERNAL.',
    'ip-10-0-0-1.ec2.internal',
    'host.docker.internal',
    'nas.lan',
    'nas.home.arpa',
    'localhost.localdomain',
    'localhost6.localdomain6.localdomain',
  ])('refuses %s in hosted deployments and resolves it in self-hosted ones', (host) => {
    expect(hosted.checkUrl(url(host)).allowed).toBe(false);
    expect(selfHosted.checkUrl(url(host))).toMatchObject({ allowed: true, literal: null });
  });

  it.each([
    'localhost.example.com',
    'notlocalhost.example',
    'notlocalhost',
    'mylocalhost.com',
    'localhost-1.example',
    'local.example.com',
    'notlocal',
    'thelocal.se',
    'printer-local.example',
    'mylocal.net',
    'local-host.com',
    'localhosts.net',
    'internal.example.com',
    'myinternal.com',
    'svc.example.com',
    'lan.example.com',
    'planet.wlan.example',
    'home.arpa.example.com',
    'xn--lcalhost-54a.example',
  ])('takes %s, which only looks like one', (host) => {
    expect(selfHosted.checkUrl(url(host))).toMatchObject({ allowed: true, literal: null });
    if (host.includes('.')) expect(hosted.checkUrl(url(host))).toMatchObject({ allowed: true, literal: null });
  });
});
