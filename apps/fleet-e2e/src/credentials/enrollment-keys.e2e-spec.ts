import {
  ApiClient,
  buildEnrollment,
  eventually,
  connectToFleet,
  inviteAndAccept,
  createOrganization,
  partnerWithMfa,
} from '@rmm/testing';
import { enrollmentKey, must } from '../steps.js';

describe('enrollment keys', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  let theirs: ApiClient;
  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
    theirs = (await partnerWithMfa(fleet)).client;
  });

  const enroll = (key: string) => new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key));
  const create = async (orgId: string, more: object = {}) =>
    must(await client.post('/enrollment-keys', { orgId, name: 'Roll-out', ...more }), 201);
  /** The shortest `ttlMinutes` is one: keys that expire here get an `expiresAt` some seconds ahead. */
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

  it('enroll agents with the new key after a rotation and reject the old one', async () => {
    const { orgId } = await createOrganization(client);
    const { id, key, expiresAt } = await create(orgId, { maxUsage: 2 });
    expect((await enroll(key)).status).toBe(201);

    const response = await client.post(`/enrollment-keys/${id}/rotate`);
    const rotated = must(response, 200);
    expect(response.headers.get('cache-control')).toContain('no-store');
    expect(rotated).toMatchObject({ id, orgId, usageCount: 0, maxUsage: 2, expiresAt, status: 'active' });

    const old = await enroll(key);
    expect([old.status, old.body.code]).toEqual([401, 'invalid_enrollment_key']);
    expect((await enroll(rotated.key)).status).toBe(201);
    expect((await enroll(rotated.key)).status).toBe(201);
    const used = await enroll(rotated.key);
    expect([used.status, used.body.reason]).toEqual([403, 'enrollment_key_exhausted']);
    expect(must(await client.get(`/enrollment-keys/${id}`), 200)).toMatchObject({ usageCount: 2, status: 'exhausted' });

    const unlimited = must(await client.post(`/enrollment-keys/${id}/rotate`, { maxUsage: null }), 200);
    expect(unlimited.maxUsage).toBeNull();
    expect((await enroll(unlimited.key)).status).toBe(201);
  });

  it('complete concurrent rotations and accept the last key only', async () => {
    const { orgId } = await createOrganization(client);
    const { id, key } = await create(orgId, { maxUsage: 100 });
    const responses = await Promise.all(Array.from({ length: 4 }, () => client.post(`/enrollment-keys/${id}/rotate`)));
    const keys = responses.map((response) => must(response, 200).key as string);
    const enrolled = await Promise.all([key, ...keys].map(enroll));
    expect(enrolled.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401, 401]);
  });

  it('expire, work again after a rotation, and are purged otherwise', async () => {
    const { orgId } = await createOrganization(client);
    const expiresAt = inSeconds(6);
    const [lives, returns, goes] = await Promise.all([
      create(orgId),
      create(orgId, { expiresAt }),
      create(orgId, { expiresAt }),
    ]);
    await eventually(
      async () => {
        const expired = must(await client.get(`/enrollment-keys?orgId=${orgId}&expired=true`), 200);
        expect(expired.data.map(({ status }: { status: string }) => status)).toEqual(['expired', 'expired']);
      },
      { timeoutMs: 20_000, everyMs: 500 },
    );
    const late = await enroll(returns.key);
    expect([late.status, late.body.code]).toEqual([403, 'enrollment_key_expired']);
    const back = must(await client.post(`/enrollment-keys/${returns.id}/rotate`, { expiresAt: inSeconds(3_600) }), 200);
    expect((await enroll(back.key)).status).toBe(201);

    const purged = await client.post('/enrollment-keys/purge-expired', { orgId });
    expect(must(purged, 200)).toEqual({ success: true, deletedCount: 1 });
    expect((await client.get(`/enrollment-keys/${goes.id}`)).status).toBe(404);
    expect((await enroll(goes.key)).status).toBe(401);
    expect((await enroll(lives.key)).status).toBe(201);
  });

  it('respond 403 or 404 to a rotation or purge without permission', async () => {
    const { orgId } = await createOrganization(client);
    const { id, key } = await create(orgId);
    const roles = must(await client.get('/users/roles'), 200).data as { id: string; name: string }[];
    const roleId = roles.find((role) => role.name === 'Partner Viewer')?.id;
    const viewer = (await inviteAndAccept(fleet, client, { roleId, orgAccess: 'all' })).client;
    for (const path of [`/enrollment-keys/${id}/rotate`, '/enrollment-keys/purge-expired']) {
      const denied = await viewer.post(path, path.endsWith('rotate') ? {} : { orgId });
      expect([denied.status, denied.body.code]).toEqual([403, 'permission_denied']);
    }
    expect((await theirs.post(`/enrollment-keys/${id}/rotate`)).status).toBe(404);
    const foreign = await theirs.post('/enrollment-keys/purge-expired', { orgId });
    expect([foreign.status, foreign.body.code]).toEqual([403, 'organization_access_denied']);
    const malformed = await client.post(`/enrollment-keys/${id}/rotate`, { maxUsage: 0, usageCount: 0 });
    expect(Object.keys(malformed.body.details.fieldErrors).sort()).toEqual(['maxUsage', 'usageCount']);
    expect((await enroll(key)).status).toBe(201);
  });

  it('write audit entries with usage and expiry but without a key', async () => {
    const { orgId } = await createOrganization(client);
    const key = await enrollmentKey(client, orgId, { maxUsage: 3 });
    await enroll(key);
    const [{ id }] = must(await client.get(`/enrollment-keys?orgId=${orgId}`), 200).data;
    const rotated = must(await client.post(`/enrollment-keys/${id}/rotate`, { maxUsage: 9 }), 200);
    must(await client.delete(`/enrollment-keys/${id}`), 200);
    const rows = await eventually(async () => {
      const page = must(await client.get(`/audit-logs?resourceId=${id}`), 200);
      expect(page.data).toHaveLength(3);
      return page.data as { action: string; details: object }[];
    });
    expect(rows.map(({ action }) => action)).toEqual([
      'enrollment_key.delete',
      'enrollment_key.rotate',
      'enrollment_key.create',
    ]);
    expect(rows[1]?.details).toMatchObject({
      before: { usageCount: 1, maxUsage: 3 },
      after: { usageCount: 0, maxUsage: 9 },
    });
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${key}|${rotated.key}`));
  });
});
