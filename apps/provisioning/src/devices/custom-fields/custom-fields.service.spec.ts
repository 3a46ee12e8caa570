import { randomUUID } from 'node:crypto';
import { eventually } from '@rmm/testing-services';
import { insertDevice } from '../../../test/device-rows.js';
import { ProvisioningTestApp } from '../../../test/provisioning-test-app.js';

const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

describe('/devices/:id/custom-fields', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;
  let siteIds: string[];
  let foreign: { partnerId: string; orgId: string; deviceId: string };

  const device = (given: { partnerId?: string; orgId?: string; siteId?: string; status?: string } = {}) =>
    insertDevice(testApp.admin, {
      partner_id: given.partnerId ?? partnerId,
      org_id: given.orgId ?? orgId,
      site_id: given.siteId ?? null,
      hostname: 'alpha',
      status: given.status ?? 'online',
    });
  const pathOf = (deviceId: string) => `/devices/${deviceId}/custom-fields`;
  const stored = async (deviceId: string) =>
    (await testApp.admin.query('select custom_fields from device where id = $1', [deviceId])).rows[0].custom_fields;
  const key = (scopes: string[], given: { orgId?: string; siteIds?: string[]; rateLimit?: number } = {}) =>
    testApp.credentials.mintApiKey({ orgId, partnerId, scopes, ...given });
  const hasRateHeaders = ({ headers }: { headers: Record<string, string> }) =>
    RATE_HEADERS.every((name) => /^\d+$/.test(headers[name]));

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    const client = await testApp.clientFor({ partnerId });
    orgId = (await client.post('/orgs/organizations', { name: 'Acme' })).body.id;
    siteIds = [];
    for (const name of ['A', 'B']) siteIds.push((await client.post('/orgs/sites', { orgId, name })).body.id);
    const other = await testApp.createPartner();
    const foreignOrg = (
      await (await testApp.clientFor({ partnerId: other })).post('/orgs/organizations', { name: 'Foreign' })
    ).body.id as string;
    foreign = {
      partnerId: other,
      orgId: foreignOrg,
      deviceId: await device({ partnerId: other, orgId: foreignOrg }),
    };
    const probe = key(['devices:read']);
    const id = await device();
    await eventually(async () => expect((await testApp.withKey(probe, 'get', pathOf(id))).status).toBe(200));
  });
  afterAll(() => testApp?.stop());

  describe('with a key', () => {
    it('reads and merges fields, with rate headers on each response', async () => {
      const id = await device();
      const reader = key(['devices:read']);
      const writer = key(['devices:write'], { rateLimit: 50 });
      const empty = await testApp.withKey(reader, 'get', pathOf(id));
      expect([empty.status, empty.body]).toEqual([200, { customFields: {} }]);
      expect(hasRateHeaders(empty)).toBe(true);
      const set = await testApp.withKey(writer, 'patch', pathOf(id)).send({ rack: 'B12', units: 2, spare: true });
      expect([set.status, set.body]).toEqual([200, { customFields: { rack: 'B12', units: 2, spare: true } }]);
      expect([set.headers['x-ratelimit-limit'], set.headers['x-ratelimit-remaining']]).toEqual(['50', '49']);
      const changed = await testApp.withKey(writer, 'patch', pathOf(id)).send({ rack: 'C1', spare: null, never: null });
      expect(changed.body).toEqual({ customFields: { rack: 'C1', units: 2 } });
      expect((await testApp.withKey(reader, 'get', pathOf(id))).body).toEqual(changed.body);
      await eventually(() => expect(testApp.credentials.uses.some(({ count }) => count > 0)).toBe(true));
    });

    it('returns 403 without the scope', async () => {
      const id = await device();
      const cases = [
        ['get', ['devices:write'], 'devices:read'],
        ['get', [], 'devices:read'],
        ['patch', ['devices:read', 'devices:execute', 'devices:*', '*'], 'devices:write'],
      ] as const;
      for (const [method, scopes, required] of cases) {
        const response = await testApp.withKey(key([...scopes]), method, pathOf(id)).send({ a: 1 });
        expect([response.status, response.body.code, response.body.required]).toEqual([
          403,
          'api_key_scope_required',
          [required],
        ]);
        expect(hasRateHeaders(response)).toBe(true);
      }
      expect(await stored(id)).toEqual({});
    });

    it('returns 404 for the device of another organization and changes nothing', async () => {
      const sibling = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Sibling' }))
        .body.id as string;
      const strangers = [foreign.deviceId, await device({ orgId: sibling }), randomUUID(), 'x'];
      const both = key(['devices:read', 'devices:write']);
      for (const id of strangers) {
        for (const method of ['get', 'patch'] as const) {
          const response = await testApp.withKey(both, method, pathOf(id)).send({ a: 1 });
          expect([response.status, response.body.error]).toEqual([404, 'Device not found']);
          expect(hasRateHeaders(response)).toBe(true);
        }
      }
      expect(await stored(foreign.deviceId)).toEqual({});
    });

    it('returns 400 with the field for a malformed body and counts the request', async () => {
      const id = await device();
      const writer = key(['devices:write'], { rateLimit: 10 });
      const nested = await testApp.withKey(writer, 'patch', pathOf(id)).send({ good: 1, bad: { a: 1 }, list: [1] });
      expect([nested.status, nested.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(nested.body.details.fieldErrors)).toEqual(['bad', 'list']);
      const malformed = testApp.withKey(writer, 'patch', pathOf(id)).set('Content-Type', 'application/json');
      expect((await malformed.send('{"a":')).body.code).toBe('malformed_json');
      const empty = await testApp.withKey(writer, 'patch', pathOf(id)).send({});
      expect([empty.status, empty.headers['x-ratelimit-remaining']]).toEqual([400, '7']);
      expect(await stored(id)).toEqual({});
    });

    it('returns 429 with Retry-After above the limit of the key', async () => {
      const id = await device();
      const once = key(['devices:read'], { rateLimit: 1 });
      expect((await testApp.withKey(once, 'get', pathOf(id))).status).toBe(200);
      const refused = await testApp.withKey(once, 'get', pathOf(id));
      expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
      expect(Number(refused.headers['retry-after'])).toBe(refused.body.retryAfter);
      expect([hasRateHeaders(refused), refused.headers['x-ratelimit-remaining']]).toEqual([true, '0']);
    });

    it('restricts a key to the sites of its creator', async () => {
      const [inside, outside, nowhere] = [
        await device({ siteId: siteIds[0] }),
        await device({ siteId: siteIds[1] }),
        await device(),
      ];
      const restricted = key(['devices:read', 'devices:write'], { siteIds: [siteIds[0]] });
      expect((await testApp.withKey(restricted, 'patch', pathOf(inside)).send({ a: 1 })).status).toBe(200);
      for (const id of [outside, nowhere]) {
        for (const method of ['get', 'patch'] as const) {
          const response = await testApp.withKey(restricted, method, pathOf(id)).send({ a: 1 });
          expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
        }
        expect(await stored(id)).toEqual({});
      }
    });

    it('returns 401 without rate headers for a revoked, unknown or malformed key', async () => {
      const id = await device();
      const revoked = testApp.credentials.mintApiKey({
        orgId,
        partnerId,
        scopes: ['devices:read'],
        status: 'revoked',
      });
      const expired = testApp.credentials.mintApiKey({
        orgId,
        partnerId,
        scopes: ['devices:read'],
        expiresAt: new Date(Date.now() - 1_000).toISOString(),
      });
      for (const dead of [revoked, expired, `svc_${'x'.repeat(43)}`, 'nothing', '']) {
        const response = await testApp.withKey(dead, 'get', pathOf(id));
        expect([response.status, response.body.code]).toEqual([401, 'invalid_api_key']);
        expect(response.headers['x-ratelimit-limit']).toBeUndefined();
      }
      const anonymous = await testApp.client().get(pathOf(id));
      expect([anonymous.status, anonymous.body.code]).toEqual([401, 'invalid_api_key']);
    });
  });

  describe('with a token', () => {
    it('reads and merges fields as a user with the permission', async () => {
      const id = await device();
      const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
      const writer = await testApp.clientFor({ partnerId, permissions: ['devices:write'], mfa: false });
      const set = await writer.patch(pathOf(id), { rack: 'B12' });
      expect([set.status, set.body]).toEqual([200, { customFields: { rack: 'B12' } }]);
      const shown = await reader.get(pathOf(id));
      expect([shown.status, shown.body]).toEqual([200, { customFields: { rack: 'B12' } }]);
      expect(shown.headers['x-ratelimit-limit']).toBeUndefined();
      expect((await (await testApp.clientFor({ partnerId })).get(`/devices/${id}`)).body.customFields).toEqual({
        rack: 'B12',
      });
    });

    it('returns 403 without the permission, 404 for a foreign device and 400 for a malformed body', async () => {
      const id = await device();
      const reader = await testApp.clientFor({ partnerId, permissions: ['devices:read'] });
      expect((await reader.patch(pathOf(id), { a: 1 })).body).toMatchObject({
        code: 'permission_denied',
        required: ['devices:write'],
      });
      const blind = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
      expect((await blind.get(pathOf(id))).body.required).toEqual(['devices:read']);
      const client = await testApp.clientFor({ partnerId });
      for (const stranger of [foreign.deviceId, randomUUID(), 'x']) {
        expect((await client.get(pathOf(stranger))).status).toBe(404);
        expect((await client.patch(pathOf(stranger), { a: 1 })).status).toBe(404);
      }
      const refused = await client.patch(pathOf(id), { a: [] });
      expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, ['a']]);
    });

    it('returns 403 for a member restricted to other sites and changes nothing', async () => {
      const id = await device({ siteId: siteIds[1] });
      const member = await testApp.clientFor({ scope: 'organization', partnerId, orgId, siteIds: [siteIds[0]] });
      for (const response of [await member.get(pathOf(id)), await member.patch(pathOf(id), { a: 1 })]) {
        expect([response.status, response.body.code]).toEqual([403, 'site_access_denied']);
      }
      expect(await stored(id)).toEqual({});
    });

    it('ignores the token when a key is sent as well', async () => {
      const id = await device();
      const token = await testApp.identity.signIn({ partnerId });
      const bad = await testApp.withKey('svc_bad', 'get', pathOf(id), token);
      expect([bad.status, bad.body.code]).toEqual([401, 'invalid_api_key']);
      const scopeless = await testApp.withKey(key([]), 'patch', pathOf(id), token).send({ a: 1 });
      expect([scopeless.status, scopeless.body.code]).toEqual([403, 'api_key_scope_required']);
      const good = await testApp.withKey(key(['devices:read']), 'get', pathOf(id), 'a dead token');
      expect([good.status, hasRateHeaders(good)]).toEqual([200, true]);
    });
  });

  it('applies concurrent patches of different fields', async () => {
    const id = await device();
    const writer = key(['devices:write']);
    const names = Array.from({ length: 20 }, (_, n) => `field ${n}`);
    await testApp.withKey(writer, 'patch', pathOf(id)).send({ gone: 'soon' });
    const patches = names.map((name, n) =>
      testApp.withKey(writer, 'patch', pathOf(id)).send(n === 7 ? { [name]: n, gone: null } : { [name]: n }),
    );
    const responses = await Promise.all(patches);
    expect(responses.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(await stored(id)).toEqual(Object.fromEntries(names.map((name, n) => [name, n])));
    const versions = await eventually(() => {
      const published = testApp.received.filter(
        ({ type, aggregateId }) => type === 'device.updated' && aggregateId === id,
      );
      expect(published).toHaveLength(21);
      return published.map(({ aggregateVersion }) => aggregateVersion);
    });
    expect(new Set(versions).size).toBe(21);
  });

  it('limits a device to 500 fields and always allows removal', async () => {
    const id = await device();
    const client = await testApp.clientFor({ partnerId });
    const mapOf = (from: number, to: number, value: unknown) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`f${from + n}`, value]));
    for (const from of [0, 200, 400]) {
      expect((await client.patch(pathOf(id), mapOf(from, Math.min(from + 200, 500), 1))).status).toBe(200);
    }
    const full = await client.patch(pathOf(id), { more: 1 });
    expect([full.status, full.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(await stored(id))).toHaveLength(500);
    expect((await client.patch(pathOf(id), { f0: null, more: 1 })).status).toBe(200);
  });

  it('serves a decommissioned device, as GET /devices/:id does', async () => {
    const id = await device({ status: 'decommissioned' });
    const client = await testApp.clientFor({ partnerId });
    expect((await client.patch(pathOf(id), { disposed: 'sold' })).status).toBe(200);
    expect((await client.get(pathOf(id))).body).toEqual({ customFields: { disposed: 'sold' } });
  });

  it('publishes the names of the fields and never their values', async () => {
    const id = await device();
    const keyId = randomUUID();
    const writer = testApp.credentials.mintApiKey({ orgId, partnerId, scopes: ['devices:write'], keyId });
    await testApp.withKey(writer, 'patch', pathOf(id)).send({ owner: 'a value of its own', old: null });
    const about = { orgId, partnerId, actor: { type: 'api_key', id: keyId } };
    const event = await testApp.waitForMessage('device.updated', ({ aggregateId }) => aggregateId === id);
    expect(event).toMatchObject({ ...about, aggregateVersion: 2 });
    expect(event.data).toEqual({
      deviceId: id,
      hostname: 'alpha',
      fields: ['customFields'],
      customFields: ['owner', 'old'],
    });
    const row = await testApp.waitForMessage('device.custom_field.update', ({ aggregateId }) => aggregateId === id);
    expect(row).toMatchObject({
      ...about,
      data: { resourceType: 'device', resourceId: id, resourceName: 'alpha', details: { keys: ['owner', 'old'] } },
    });
    const published = testApp.received.filter(({ aggregateId }) => aggregateId === id);
    expect(published).toHaveLength(2);
    expect(JSON.stringify(testApp.received)).not.toContain('a value of its own');
  });

  it('accepts a key for GET and PATCH of this path only', async () => {
    const id = await device();
    const good = key(['devices:read', 'devices:write', 'devices:execute', 'ai:read']);
    const refused = async (method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete', path: string) => {
      const response = await testApp.withKey(good, method, path).send(method === 'head' ? undefined : { a: 1 });
      expect([401, 404]).toContain(response.status);
      expect(response.headers['x-ratelimit-limit']).toBeUndefined();
      if (response.status === 401 && method !== 'head') expect(response.body.code).toBe('api_key_not_accepted_here');
      return response.status;
    };
    expect(await refused('head', pathOf(id))).toBe(401);
    for (const method of ['post', 'put', 'delete'] as const) expect(await refused(method, pathOf(id))).toBe(404);
    const elsewhere = [
      `/devices/${id}/custom%2Dfields`,
      `/devices/${id}%2Fcustom-fields`,
      `/devices/${id}/custom-fields/x`,
      `/devices/x/../${id}/custom-fields/..`,
      `//devices/${id}/custom-fields`,
    ];
    for (const path of elsewhere) {
      for (const method of ['get', 'patch'] as const) await refused(method, path);
    }
    for (const path of ['/devices', `/devices/${id}`, '/orgs/sites', '/orgs/organizations']) {
      expect(await refused('get', path)).toBe(401);
    }
    expect(await stored(id)).toEqual({});
    // The same route in another spelling, with the same access rules.
    for (const path of [`${pathOf(id)}/`, `/DEVICES/${id}/Custom-Fields`]) {
      expect((await testApp.withKey(good, 'get', path)).status).toBe(200);
      expect((await testApp.withKey(key(['devices:write']), 'get', path)).status).toBe(403);
    }
  });
});
