import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import pg from 'pg';
import {
  ApiClient,
  CertifiedProvider,
  connectToFleet,
  enrollTotp,
  eventually,
  partnerWithMfa,
  type SignedIn,
} from '@rmm/testing';
import { enrollDevice, machine } from '../credentials/machines.js';
import { must } from '../steps.js';

const GUIDE = resolve(import.meta.dirname, '../../../../docs/guides/scim.md');
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
/** Far above the second that is promised: the machine of the test may be busy. Caches hold longer than this. */
const LIMIT_MS = 8_000;

describe('SCIM', () => {
  const fleet = connectToFleet();
  const publicUrl = fleet.baseUrl.replace('127.0.0.1', 'localhost');
  const domain = `scim-${Date.now()}.test`;
  let provider: CertifiedProvider;
  let owner: SignedIn;
  let orgId: string;
  let roleId: string;
  let providerId: string;
  let token: string;

  beforeAll(async () => {
    provider = await CertifiedProvider.start({ redirectUri: `${publicUrl}/api/v1/sso/callback` });
    owner = await partnerWithMfa(fleet);
    const { client } = owner;
    orgId = must(await client.post('/orgs/organizations', { name: `Customer ${domain}` }), 201).id as string;
    const permissions = [
      { resource: 'devices', action: 'read' },
      { resource: 'organizations', action: 'read' },
      { resource: 'organizations', action: 'write' },
    ];
    const role = await eventually(async () =>
      must(await client.post('/roles', { name: 'Technician', orgId, permissions }), 201),
    );
    roleId = role.id as string;
    const body = { orgId, name: 'Provider', issuer: provider.issuer, defaultRoleId: roleId };
    const secrets = { clientId: CertifiedProvider.clientId, clientSecret: CertifiedProvider.clientSecret };
    providerId = must(await client.post('/sso/providers', { ...body, ...secrets }), 201).data.id as string;
    must(await client.post(`/sso/providers/${providerId}/status`, { status: 'active' }), 200);
    await proveDomain(must(await client.post('/sso/domains', { orgId, domain }), 201).data.id as string);
    token = must(await client.post(`/sso/providers/${providerId}/scim/tokens`, { name: 'IdP' }), 201).data
      .token as string;
  });
  afterAll(() => provider.stop());

  /** No name server of a test is asked by the fleet. */
  async function proveDomain(id: string): Promise<void> {
    const client = new pg.Client({ connectionString: fleet.databaseUrl });
    await client.connect();
    const proven = client.query('UPDATE identity.sso_domain SET verified_at = now() WHERE id = $1', [id]);
    await proven.finally(() => client.end());
  }

  const replicasOf = (service: string) =>
    (fleet.services.find(({ name }) => name === service)?.instances ?? []).map(
      ({ port }) => `http://127.0.0.1:${port}`,
    );

  async function scim(method: string, path: string, body?: object): Promise<{ id: string }> {
    const response = await fetch(`${fleet.baseUrl}/api/v1/scim/v2${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/scim+json' },
      body: body && JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  }

  /** Signs a user in at the identity provider. */
  async function signIn(email: string): Promise<string> {
    provider.accounts.set(email, { email, email_verified: true });
    const started = await fetch(`${fleet.baseUrl}/api/v1/sso/login/${orgId}`, { redirect: 'manual' });
    const back = await provider.signIn(started.headers.get('location') ?? '', email);
    const done = await fetch(back, { redirect: 'manual', headers: { cookie: cookiesOf(started) } });
    const code = /#ssoCode=([A-Za-z0-9_-]{48})$/.exec(done.headers.get('location') ?? '')?.[1];
    const exchanged = await fetch(`${fleet.baseUrl}/api/v1/sso/exchange`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: cookiesOf(done) },
      body: JSON.stringify({ code }),
    });
    expect(exchanged.status).toBe(200);
    return ((await exchanged.json()) as { accessToken: string }).accessToken;
  }

  it('(two replicas of identity and of provisioning are running)', () => {
    expect([replicasOf('identity').length, replicasOf('provisioning').length]).toEqual([2, 2]);
  });

  it('ends the session and the API key of a user who leaves, on every replica, and gives them back', async () => {
    const email = `leaver@${domain}`;
    const { id } = await scim('POST', '/Users', { userName: email, active: true });
    const signedIn = new ApiClient(fleet.baseUrl).as({ bearer: await signIn(email) });
    const { client: user, bearer } = await enrollTotp(signedIn);
    const device = await enrollDevice(fleet, owner.client, orgId);
    const key = must(await user.post('/api-keys', { orgId, name: 'Own', scopes: ['devices:read'] }), 201).key as string;
    const sessions = replicasOf('identity').map((url) => new ApiClient(url).as({ bearer }));
    const keys = replicasOf('provisioning').map((url) => machine(fleet, key, url));
    const path = `/devices/${device}/custom-fields`;
    for (const session of sessions) must(await session.get('/users/me'), 200);
    for (const client of keys) must(await client.get(path), 200);

    const off = { schemas: [PATCH], Operations: [{ op: 'Replace', path: 'active', value: 'False' }] };
    await scim('PATCH', `/Users/${id}`, off);
    const endedAt = performance.now();
    const isOver = () => performance.now() - endedAt > LIMIT_MS;
    const ends = async (status: () => Promise<number>) => {
      for (;;) {
        const now = await status();
        if (now === 401) return;
        if (isOver()) throw new Error(`still ${now} after ${LIMIT_MS} ms`);
      }
    };
    await Promise.all([
      ...sessions.map((session) => ends(async () => (await session.get('/users/me')).status)),
      ...keys.map((client) => ends(async () => (await client.get(path)).status)),
    ]);
    process.stdout.write(`    ${Math.round(performance.now() - endedAt)} ms\n`);

    const on = { schemas: [PATCH], Operations: [{ op: 'Replace', path: 'active', value: 'True' }] };
    await scim('PATCH', `/Users/${id}`, on);
    for (const client of keys) await eventually(async () => expect((await client.get(path)).status).toBe(200));
    expect((await sessions[0]?.get('/users/me'))?.status).toBe(401);
  });

  it('works as the guide says', async () => {
    const values: Record<string, string> = { providerId, roleId, domain };
    values['accessToken'] = owner.client.credentials.bearer ?? '';
    const blocks = [...readFileSync(GUIDE, 'utf8').matchAll(/```http run\n([\s\S]*?)```/g)].map(([, text]) => text);
    expect(blocks.length).toBeGreaterThan(5);
    for (const block of blocks) await runBlock(block, values);
  });

  /** Sends the request of a block, expects the status at its end and keeps the values that are named after it. */
  async function runBlock(block: string, values: Record<string, string>): Promise<void> {
    const filled = block.replace(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
    const parts = filled.trim().split('\n\n');
    const [requestLine = '', ...headerLines] = (parts[0] ?? '').split('\n');
    const [status = '', ...kept] = (parts.at(-1) ?? '').split('\n');
    const [method = '', path = ''] = requestLine.split(' ');
    const response = await fetch(`${fleet.baseUrl}${path}`, {
      method,
      headers: Object.fromEntries(headerLines.map((line) => line.split(': ') as [string, string])),
      ...(parts.length > 2 && { body: parts.slice(1, -1).join('\n\n') }),
    });
    const text = await response.text();
    expect(`${requestLine}: ${response.status} ${response.ok ? '' : text}`).toBe(`${requestLine}: ${status} `);
    for (const line of kept) {
      const [name = '', source = ''] = line.split(' = ');
      const value = source
        .split('.')
        .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], JSON.parse(text));
      values[name] = String(value);
    }
  }
});

const cookiesOf = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');
