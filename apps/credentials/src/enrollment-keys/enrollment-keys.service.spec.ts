import { randomUUID } from 'node:crypto';
import { hashEnrollmentKey } from '@rmm/secrets';
import { buildCustomer, type Client, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp, LEGACY_PEPPER, PEPPER } from '../../test/credentials-test-app.js';

const PATH = '/enrollment-keys';
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

describe('EnrollmentKeysService', () => {
  let service: CredentialsTestApp;
  let ours: Customer;
  let theirs: Customer;
  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    [ours, theirs] = [await buildCustomer(service), await buildCustomer(service)];
  });
  afterAll(() => service?.stop());

  const create = (body: object = {}, client: Client = ours.owner) =>
    client.post(PATH, { orgId: ours.orgId, name: 'Roll-out', ...body });
  const created = async (body: object = {}, client?: Client) => {
    const response = await create(body, client);
    expect(response.status).toBe(201);
    return response.body;
  };
  const expire = (id: string) =>
    service.admin.query(`update enrollment_key set expires_at = now() - interval '1 second' where id = $1`, [id]);
  const lifetimeMs = (key: { createdAt: string; expiresAt: string }) =>
    Date.parse(key.expiresAt) - Date.parse(key.createdAt);

  it('creates a key and shows it once', async () => {
    const response = await create({ siteId: ours.siteIds[0], maxUsage: 5, name: '  Front desk  ' });
    expect(response.status).toBe(201);
    expect(response.headers['cache-control']).toBe('no-store');
    const { key, ...record } = response.body;
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(record).toEqual({
      id: expect.any(String),
      orgId: ours.orgId,
      siteId: ours.siteIds[0],
      name: 'Front desk',
      usageCount: 0,
      maxUsage: 5,
      expiresAt: expect.stringMatching(/Z$/),
      createdBy: service.identity.userIdOf(ours.owner.token),
      createdAt: expect.stringMatching(/Z$/),
      status: 'active',
    });
    expect((await ours.owner.get(`${PATH}/${record.id}`)).body).toEqual(record);
    const audit = await service.findAuditEntry('enrollment_key.create', record.id);
    expect(audit).toMatchObject({
      resourceName: 'Front desk',
      details: { siteId: ours.siteIds[0], maxUsage: 5, expiresAt: record.expiresAt },
    });
    expect(JSON.stringify(service.received)).not.toContain(key);
  });

  it('stores the hash with the current pepper, never with a legacy one', async () => {
    const { id, key } = await created();
    const { rows } = await service.admin.query<{ key_hash: Buffer }>('select * from enrollment_key where id = $1', [
      id,
    ]);
    expect(rows[0]?.key_hash).toEqual(hashEnrollmentKey(key, PEPPER));
    expect(rows[0]?.key_hash).not.toEqual(hashEnrollmentKey(key, LEGACY_PEPPER));
    expect(JSON.stringify(rows)).not.toContain(key);
  });

  it('defaults to one enrollment and 30 days', async () => {
    const key = await created();
    expect(key.maxUsage).toBe(1);
    expect(Math.abs(lifetimeMs(key) - 30 * DAY_MS)).toBeLessThan(MINUTE_MS);
  });

  it('accepts a lifetime in minutes or an expiry', async () => {
    for (const ttlMinutes of [1, 525_600]) {
      expect(Math.abs(lifetimeMs(await created({ ttlMinutes })) - ttlMinutes * MINUTE_MS)).toBeLessThan(MINUTE_MS / 2);
    }
    const key = await created({ expiresAt: '2099-05-01T12:00:00+02:00' });
    expect(key.expiresAt).toBe('2099-05-01T10:00:00.000Z');
  });

  it.each([
    ['no name', { name: undefined }, 'name'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name'],
    ['a name with a control character', { name: 'bell\u0007' }, 'name'],
    ['no uses', { maxUsage: 0 }, 'maxUsage'],
    ['too many uses', { maxUsage: 100_001 }, 'maxUsage'],
    ['unlimited uses', { maxUsage: null }, 'maxUsage'],
    ['a lifetime of no minutes', { ttlMinutes: 0 }, 'ttlMinutes'],
    ['a lifetime of more than a year', { ttlMinutes: 525_601 }, 'ttlMinutes'],
    ['both ways of saying when', { ttlMinutes: 5, expiresAt: '2099-01-01T00:00:00Z' }, 'ttlMinutes'],
    ['an end that has passed', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['an end without offset', { expiresAt: '2099-01-01T00:00:00' }, 'expiresAt'],
    ['no end', { expiresAt: null }, 'expiresAt'],
    ['no site, said aloud', { siteId: null }, 'siteId'],
    ['an unknown site', { siteId: randomUUID() }, 'siteId'],
    ['an unknown field', { maxUses: 3 }, 'maxUses'],
    ['a key of their own', { key: 'a'.repeat(64) }, 'key'],
  ])('refuses %s', async (_, body, path) => {
    const response = await create(body);
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors)).toEqual([path]);
  });

  it('refuses a site of another organization', async () => {
    for (const siteId of [
      theirs.siteIds[0],
      service.provisioning.addSite(await service.createOrganization(ours.partnerId)),
    ]) {
      const response = await create({ siteId });
      expect([response.status, Object.keys(response.body.details?.fieldErrors ?? {})]).toEqual([400, ['siteId']]);
    }
  });

  it('uses the organization of its member, and requires it from other callers', async () => {
    const member = await ours.member();
    expect((await member.post(PATH, { name: 'Own' })).body.orgId).toBe(ours.orgId);
    for (const client of [ours.owner, await service.as({ scope: 'system' })]) {
      const response = await client.post(PATH, { name: 'Whose?' });
      expect([response.status, Object.keys(response.body.details.fieldErrors)]).toEqual([400, ['orgId']]);
    }
    expect((await create({}, await service.as({ scope: 'system' }))).status).toBe(201);
  });

  it('applies the cap of the partner: shortens the default and refuses more', async () => {
    const capped = await buildCustomer(service);
    const settings = { enrollment: { maxTtlMinutes: 60 } };
    await service.publishPartner('partner.updated', { partnerId: capped.partnerId, version: 2, settings });
    for (const client of [capped.owner, await capped.member()]) {
      const body = { orgId: capped.orgId, name: 'Capped' };
      const key = await client.post(PATH, body);
      expect(Math.abs(lifetimeMs(key.body) - 60 * MINUTE_MS)).toBeLessThan(MINUTE_MS / 2);
      expect((await client.post(PATH, { ...body, ttlMinutes: 60 })).status).toBe(201);
      const inTwoHours = new Date(Date.now() + 120 * MINUTE_MS).toISOString();
      for (const asked of [{ ttlMinutes: 61 }, { expiresAt: inTwoHours }]) {
        const refused = await client.post(PATH, { ...body, ...asked });
        expect([refused.status, refused.body.code]).toEqual([400, 'enrollment_ttl_exceeds_cap']);
      }
    }
  });

  it('lists newest first, by organization and by expiry, with a matching status', async () => {
    const { owner, orgId } = await buildCustomer(service);
    const [first, used, last] = [
      await created({ orgId, name: 'first' }, owner),
      await created({ orgId, name: 'used' }, owner),
      await created({ orgId, name: 'last' }, owner),
    ];
    await service.admin.query('update enrollment_key set usage_count = 1 where id = $1', [used.id]);
    await expire(first.id);
    const listed = async (query: string) => {
      const { body } = await owner.get(`${PATH}?orgId=${orgId}&${query}`);
      return [body.pagination.total, body.data.map((each: typeof first) => [each.name, each.status])];
    };
    expect(await listed('')).toEqual([
      3,
      [
        ['last', 'active'],
        ['used', 'exhausted'],
        ['first', 'expired'],
      ],
    ]);
    expect(await listed('expired=true')).toEqual([1, [['first', 'expired']]]);
    expect((await listed('expired=false'))[0]).toBe(2);
    expect(await listed('limit=1&page=2')).toEqual([3, [['used', 'exhausted']]]);
    expect((await owner.get(`${PATH}?expired=maybe`)).status).toBe(400);
    const body = JSON.stringify((await owner.get(PATH)).body);
    for (const { key } of [first, used, last]) expect(body).not.toContain(key);
  });

  it('deletes a key and records its usage in the audit log', async () => {
    const { id } = await created({ maxUsage: 9 });
    await service.admin.query('update enrollment_key set usage_count = 4 where id = $1', [id]);
    const response = await ours.owner.delete(`${PATH}/${id}`);
    expect([response.status, response.body]).toEqual([200, { success: true, message: 'Enrollment key deleted' }]);
    expect((await service.admin.query('select 1 from enrollment_key where id = $1', [id])).rows).toEqual([]);
    expect((await service.findAuditEntry('enrollment_key.delete', id)).details).toMatchObject({
      usageCount: 4,
      maxUsage: 9,
    });
    expect((await ours.owner.delete(`${PATH}/${id}`)).status).toBe(404);
  });

  it('requires a token and the permission, and a second factor for writes', async () => {
    const { id } = await created();
    const reader = await ours.as({ permissions: ['organizations:read'] });
    const outsider = await ours.as({ permissions: ['devices:read'] });
    const withoutFactor = await ours.as({ mfa: false });
    const reads = (client: Client) => [() => client.get(PATH), () => client.get(`${PATH}/${id}`)];
    const writes = (client: Client) => [
      () => create({}, client),
      () => client.post(`${PATH}/${id}/rotate`, { maxUsage: null }),
      () => client.post(`${PATH}/purge-expired`, { orgId: ours.orgId }),
      () => client.delete(`${PATH}/${id}`),
    ];
    const codes = async (calls: (() => PromiseLike<{ status: number; body: { code?: string } }>)[]) => {
      const responses = [];
      for (const call of calls) {
        const { status, body } = await call();
        responses.push(`${status} ${body.code}`);
      }
      return [...new Set(responses)];
    };
    expect(await codes(reads(reader))).toEqual(['200 undefined']);
    expect(await codes([...reads(outsider), ...writes(outsider), ...writes(reader)])).toEqual([
      '403 permission_denied',
    ]);
    expect(await codes(reads(withoutFactor))).toEqual(['200 undefined']);
    expect(await codes(writes(withoutFactor))).toEqual(['403 mfa_required']);
    const stranger = service.client();
    expect(await codes([...reads(stranger), ...writes(stranger)])).toEqual(['401 unauthenticated']);
    expect((await ours.owner.get(`${PATH}/${id}`)).body).toMatchObject({ maxUsage: 1, usageCount: 0 });
  });

  it('returns 404 or 403 to callers of other tenants', async () => {
    const { id } = await created();
    const outsiders = [
      theirs.owner,
      await ours.as({ orgAccess: 'selected', orgIds: [randomUUID()] }),
      await ours.as({ scope: 'organization', orgId: await service.createOrganization(ours.partnerId) }),
    ];
    for (const outsider of outsiders) {
      const unknown = await outsider.get(`${PATH}/${randomUUID()}`);
      for (const response of [
        await outsider.get(`${PATH}/${id}`),
        await outsider.post(`${PATH}/${id}/rotate`),
        await outsider.delete(`${PATH}/${id}`),
        await outsider.delete(`${PATH}/no-id-at-all`),
      ]) {
        expect(response.status).toBe(404);
        expect({ ...response.body, requestId: '' }).toEqual({ ...unknown.body, requestId: '' });
      }
      for (const response of [
        await create({}, outsider),
        await outsider.get(`${PATH}?orgId=${ours.orgId}`),
        await outsider.post(`${PATH}/purge-expired`, { orgId: ours.orgId }),
      ]) {
        expect([response.status, response.body.code]).toEqual([403, 'organization_access_denied']);
      }
      expect((await outsider.get(PATH)).body.data).toEqual([]);
    }
    expect((await ours.owner.get(`${PATH}/${id}`)).status).toBe(200);
  });

  it('limits writes to 120 per minute and user', async () => {
    const [busy, other] = [await ours.as(), await ours.as()];
    const responses = await Promise.all(
      Array.from({ length: 125 }, () => busy.delete(`${PATH}/${randomUUID()}`).then(({ status }) => status)),
    );
    expect(responses.filter((status) => status === 404)).toHaveLength(120);
    expect(responses.filter((status) => status === 429)).toHaveLength(5);
    const refused = await create({}, busy);
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBe(refused.body.retryAfter);
    for (const path of [`${PATH}/purge-expired`, `${PATH}/${randomUUID()}/rotate`]) {
      expect((await busy.post(path, path.endsWith('expired') ? { orgId: ours.orgId } : {})).status).toBe(429);
    }
    expect([(await busy.get(PATH)).status, (await create({}, other)).status]).toEqual([200, 201]);
  });
});
