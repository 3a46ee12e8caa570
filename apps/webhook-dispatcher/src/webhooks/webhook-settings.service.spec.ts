import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { NameServerResolver, SystemResolver } from '@rmm/outbound';
import { type ApiClient, createApiClient } from '../../test/api-client.js';
import { DispatcherTestCluster } from '../../test/dispatcher-test-cluster.js';
import { FakeAccess } from '../../test/fake-access.js';

// Real stores on a busy machine: time is not what these specs are about.
jest.setTimeout(120_000);

const corpus = <T>(file: string): T =>
  JSON.parse(readFileSync(path.join(__dirname, '../../../../third_party', file), 'utf8')) as T;
const overHttps = (url: string) => url.replace(/^http:/, 'https:');

const payloads = corpus<{ readme: string[]; cloudInstances: string[] }>('payloads-all-the-things/ssrf-urls.json');
/** Names a public address and would be called over https. @see libs/outbound/src/corpora.spec.ts */
const isPublic = (url: string) => url.startsWith('https://1.1.1.1 &@2.2.2.2#');
const blocked = [
  ...corpus<string[]>('ssrf-req-filter/blocked-urls.json'),
  ...corpus<{ blocked: string[] }>('request-filtering-agent/urls.json').blocked,
  ...payloads.readme,
  ...payloads.cloudInstances,
];
const lines = [...new Set(blocked.flatMap((url) => [url, overHttps(url)]))].filter((url) => !isPublic(url));

/** Replaces the name servers: the addresses of these names, and public addresses for the others. */
const ADDRESSES: [RegExp, string[]][] = [
  [/169\.254\.169\.254|nicob|1ynrnhl/, ['169.254.169.254']],
  [/nip\.io|localtest|apple|burpcollaborator|rebind/, ['127.0.0.1']],
  [/^mixed\./, ['8.8.8.8', '10.0.0.1']],
  [/^nowhere\./, []],
  [/^egress\./, ['8.8.4.4']],
  [/^lan\./, ['192.168.1.20', 'fd12::20']],
  [/./, ['8.8.8.8', '2606:4700::1111']],
];
const resolve = (host: string) => Promise.resolve(ADDRESSES.find(([name]) => name.test(host))?.[1] ?? []);

describe('URLs of webhooks', () => {
  const identity = new FakeAccess();
  let cluster: DispatcherTestCluster;
  let hosted: ApiClient;
  let selfHosted: ApiClient;

  beforeAll(async () => {
    jest.spyOn(NameServerResolver.prototype, 'resolve').mockImplementation(resolve);
    jest.spyOn(SystemResolver.prototype, 'resolve').mockImplementation(resolve);
    cluster = await DispatcherTestCluster.open();
    const own = { PUBLIC_API_URL: 'https://api.fleet.example', OUTBOUND_BLOCKED_CIDRS: '8.8.4.0/24' };
    const env = { ...own, OUTBOUND_EXTRA_ALLOWED_CIDRS: '', GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' };
    const cloud = await cluster.start({ ...env, IS_HOSTED: 'true' }, [identity.module()]);
    const local = await cluster.start({ ...env, IS_HOSTED: 'false' }, [identity.module()]);
    const member = identity.member(await cluster.organization());
    [hosted, selfHosted] = [createApiClient(cloud, member), createApiClient(local, member)];
    await Promise.all([hosted, selfHosted].map((client) => client.get('').expect(200)));
  });

  afterAll(async () => {
    await cluster.close();
    jest.restoreAllMocks();
  });

  const create = (client: ApiClient, url: string) => client.post('', { name: 'Hook', url, events: ['device.*'] });
  const refusal = { code: 'invalid_webhook_url', error: 'Invalid webhook URL', message: expect.stringMatching(/./) };

  it.each(lines)('hosted: refuses %s', async (url) => {
    const { status, body } = await create(hosted, url);
    expect({ status, body }).toEqual({ status: 400, body: expect.objectContaining(refusal) });
    expect(body.message).not.toMatch(/\d+\.\d+\.\d+\.\d+|::/);
  });

  it.each([
    ['https://mixed.example.com/', 'the host is in a private address range'],
    ['https://nowhere.example.com/', 'the host has no address'],
    ['https://api.fleet.example/api/v1/webhooks', 'the host is this service'],
    ['https://egress.example.com/', 'the host is in a blocked address range'],
    ['https://8.8.4.4/', 'the host is in a blocked address range'],
    ['https://lan.example.com/', 'the host is in a private address range'],
    ['http://hooks.example.com/', 'only https is allowed'],
    ['https://10.0.0.1/', 'the host is in a private address range'],
    ['https://[fd12::1]/', 'the host is in a private address range'],
    ['https://redis/', 'the host must be a full domain name'],
    ['https://hooks.example.com:0/', 'port 0 is not a port'],
    ['https://127.0.0.1../', 'the host is not a valid name'],
  ])('hosted: refuses %s, since %s', async (url, reason) => {
    const { body } = await create(hosted, url).expect(400);
    expect(body).toMatchObject({ ...refusal, message: expect.stringContaining(reason) });
  });

  it.each([
    ...corpus<string[]>('ssrf-req-filter/allowed-urls.json'),
    'https://hooks.example.com:8443/x',
    'https://localhost.example.com/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])('hosted and self-hosted: accepts %s', async (url) => {
    await create(hosted, url).expect(201);
    await create(selfHosted, url).expect(201);
  });

  it.each([
    'http://10.0.0.1/hook',
    'https://192.168.1.5/',
    'http://3232235777/',
    'http://[fd12::1]:8080/',
    'http://lan.example.com/',
    'https://lan.example.com/',
    'https://mixed.example.com/',
  ])('self-hosted: accepts %s', async (url) => {
    await create(selfHosted, url).expect(201);
  });

  it.each([
    'http://hooks.example.com/',
    'http://mixed.example.com/',
    'http://8.8.8.8/',
    'http://127.0.0.1/',
    'https://localhost/',
    'https://printer.local/',
    'https://127.0.0.1.nip.io/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://[fe80::1]/',
    'http://100.100.100.200/',
  ])('self-hosted: refuses %s', async (url) => {
    expect((await create(selfHosted, url).expect(400)).body).toMatchObject(refusal);
  });

  it('checks a changed URL the same way and keeps the old one', async () => {
    const { body: webhook } = await create(hosted, 'https://hooks.example.com/x').expect(201);
    for (const url of ['https://169.254.169.254/', 'https://127.0.0.1.nip.io/', 'http://hooks.example.com/']) {
      const { body } = await hosted.patch(`/${webhook.id}`, { url }).expect(400);
      expect(body).toMatchObject(refusal);
    }
    const { body: kept } = await hosted.get(`/${webhook.id}`).expect(200);
    expect(kept.url).toBe('https://hooks.example.com/x');
  });

  it('stores nothing for a refused URL', async () => {
    const name = randomUUID();
    await hosted.post('', { name, url: 'https://127.0.0.1/', events: ['*'] }).expect(400);
    expect(await cluster.rows('select id from webhook where name = $1', [name])).toEqual([]);
  });
});
