import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { ENROLLMENT_KEYS_RELEASE, ENROLLMENT_KEYS_RESERVE } from '@rmm/contracts';
import { hashEnrollmentKey } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { buildCustomer, type Client, type Customer } from '../../test/build-customer.js';
import { CredentialsTestApp, LEGACY_PEPPER, PEPPER } from '../../test/credentials-test-app.js';

const PATH = '/enrollment-keys';
const HOUR_MS = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

describe('rotation of an enrollment key', () => {
  let service: CredentialsTestApp;
  let ours: Customer;
  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ours = await buildCustomer(service);
  });
  afterAll(() => service?.stop());

  const create = async (body: object = {}) =>
    (await ours.owner.post(PATH, { orgId: ours.orgId, name: 'Roll-out', ...body })).body;
  const rotate = (id: string, body: object | string = {}, client: Client = ours.owner) =>
    client.post(`${PATH}/${id}/rotate`, body);
  const rotated = async (id: string, body?: object | string) => {
    const response = await rotate(id, body);
    expect(response.status).toBe(200);
    return response.body;
  };
  const hashesOf = (key: string) =>
    [PEPPER, LEGACY_PEPPER].map((pepper) => hashEnrollmentKey(key, pepper).toString('hex'));
  /** Reserves a use as an enrollment does. @returns `reserved`, or why not */
  const use = async (key: string, deviceId = randomUUID()) => {
    const reply = await service.request(ENROLLMENT_KEYS_RESERVE, { keyHashes: hashesOf(key), deviceId });
    return reply.reserved ? 'reserved' : reply.reason;
  };
  const usageOf = async (id: string) => (await ours.owner.get(`${PATH}/${id}`)).body.usageCount;
  const set = (id: string, assignment: string) =>
    service.admin.query(`update enrollment_key set ${assignment} where id = $1`, [id]);

  it('returns a new key, ends the old one at once and resets the usage count', async () => {
    const { key: oldKey, ...before } = await create({ maxUsage: 2, siteId: ours.siteIds[0] });
    await use(oldKey);
    const response = await rotate(before.id, { maxUsage: 7 });
    expect(response.status).toBe(200);
    expect(response.headers['cache-control']).toBe('no-store');
    const { key, ...after } = response.body;
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(key).not.toBe(oldKey);
    expect(after).toEqual({ ...before, maxUsage: 7 });
    expect([await use(oldKey), await use(key)]).toEqual(['invalid_enrollment_key', 'reserved']);

    const audit = await service.findAuditEntry('enrollment_key.rotate', before.id);
    expect(audit.details).toEqual({
      before: { usageCount: 1, maxUsage: 2, expiresAt: before.expiresAt },
      after: { usageCount: 0, maxUsage: 7, expiresAt: before.expiresAt },
    });
    const received = JSON.stringify(service.received);
    for (const secret of [oldKey, key, ...hashesOf(key)]) expect(received).not.toContain(secret);
  });

  it.each([
    ['no body at all', ''],
    ['an empty body', {}],
  ])('keeps the limit and the expiry with %s', async (_, body) => {
    const { id, expiresAt, key } = await create({ maxUsage: 3, ttlMinutes: 90 });
    const after = await rotated(id, body);
    expect(after).toMatchObject({ id, maxUsage: 3, expiresAt, usageCount: 0, status: 'active' });
    expect(after.key).not.toBe(key);
  });

  it('removes and sets the limit of uses', async () => {
    const { id } = await create();
    const unlimited = await rotated(id, { maxUsage: null });
    expect(unlimited).toMatchObject({ maxUsage: null, status: 'active' });
    for (let uses = 0; uses < 3; uses += 1) expect(await use(unlimited.key)).toBe('reserved');
    expect((await rotated(id)).maxUsage).toBeNull();
    const limited = await rotated(id, { maxUsage: 1 });
    expect([await use(limited.key), await use(limited.key)]).toEqual(['reserved', 'enrollment_key_exhausted']);
  });

  it('activates an exhausted key again, an expired one only with a new expiry', async () => {
    const { id, key } = await create();
    await use(key);
    expect(await use((await rotated(id)).key)).toBe('reserved');
    await set(id, `expires_at = now() - interval '1 hour'`);
    const still = await rotated(id);
    expect([still.status, await use(still.key)]).toEqual(['expired', 'enrollment_key_expired']);
    const back = await rotated(id, { expiresAt: inHours(1) });
    expect([back.status, await use(back.key)]).toEqual(['active', 'reserved']);
  });

  it.each([
    ['no uses', { maxUsage: 0 }, 'maxUsage'],
    ['too many uses', { maxUsage: 100_001 }, 'maxUsage'],
    ['uses in words', { maxUsage: '5' }, 'maxUsage'],
    ['an end that has passed', { expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt'],
    ['no end', { expiresAt: null }, 'expiresAt'],
    ['a field of the creation', { ttlMinutes: 5 }, 'ttlMinutes'],
    ['a usage of their own', { usageCount: 0 }, 'usageCount'],
  ])('refuses %s, and the old key keeps working', async (_, body, path) => {
    const { id, key } = await create();
    const response = await rotate(id, body);
    expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.body.details.fieldErrors)).toEqual([path]);
    expect(await use(key)).toBe('reserved');
  });

  it('refuses a new expiry beyond the cap of the partner and shortens the existing one to it', async () => {
    const capped = await buildCustomer(service);
    const { id } = (await capped.owner.post(PATH, { orgId: capped.orgId, name: 'Capped' })).body;
    const settings = { enrollment: { maxTtlMinutes: 60 } };
    await service.publishPartner('partner.updated', { partnerId: capped.partnerId, version: 2, settings });
    const refused = await rotate(id, { expiresAt: inHours(2) }, capped.owner);
    expect([refused.status, refused.body.code]).toEqual([400, 'enrollment_ttl_exceeds_cap']);
    expect((await rotate(id, { expiresAt: inHours(0.9) }, capped.owner)).status).toBe(200);
    await service.publishPartner('partner.updated', {
      partnerId: capped.partnerId,
      version: 3,
      settings: { enrollment: { maxTtlMinutes: 5 } },
    });
    const kept = await rotate(id, {}, await capped.member());
    expect(kept.status).toBe(200);
    expect(Date.parse(kept.body.expiresAt as string)).toBeLessThanOrEqual(Date.now() + 5 * 60_000);
  });

  it('returns a key for each of twenty concurrent rotations, and exactly the last one works', async () => {
    const { id, key } = await create({ maxUsage: 100 });
    const responses = await Promise.all(Array.from({ length: 20 }, () => rotated(id)));
    const keys = responses.map((response) => response.key as string);
    expect(new Set([key, ...keys]).size).toBe(21);
    const replies = [];
    for (const each of [key, ...keys]) replies.push(await use(each));
    expect(replies.filter((reply) => reply === 'reserved')).toHaveLength(1);
    expect(replies.filter((reply) => reply === 'invalid_enrollment_key')).toHaveLength(20);
    expect(await usageOf(id)).toBe(1);
    const { rows } = await service.admin.query('select generation from enrollment_key where id = $1', [id]);
    expect(rows).toEqual([{ generation: 21 }]);
  });

  it('refuses the old key in a race, and counts no use of it for the new one', async () => {
    const { id, key } = await create({ maxUsage: 1_000 });
    const racers = Array.from({ length: 40 }, () => randomUUID());
    const [fresh, ...replies] = await Promise.all([rotated(id), ...racers.map((deviceId) => use(key, deviceId))]);
    expect(replies.every((reply) => ['reserved', 'invalid_enrollment_key'].includes(reply))).toBe(true);
    expect(await usageOf(id)).toBe(0);
    expect(await use(key)).toBe('invalid_enrollment_key');
    expect([await use(fresh.key), await usageOf(id)]).toEqual(['reserved', 1]);
  });

  it('refuses an enrollment that read the key before the rotation', async () => {
    const { id, key } = await create({ maxUsage: 5 });
    const rotating = new pg.Client({
      connectionString: service.database.adminUrl,
      options: '-c search_path=credentials',
    });
    await rotating.connect();
    try {
      await rotating.query('begin');
      await rotating.query(`update enrollment_key set key_hash = sha256('another key') where id = $1`, [id]);
      const late = use(key);
      await eventually(async () => {
        const waiting = 'select 1 from pg_stat_activity where wait_event_type = $1 and datname = current_database()';
        expect((await service.admin.query(waiting, ['Lock'])).rows).toHaveLength(1);
      });
      await rotating.query('commit');
      expect([await late, await usageOf(id)]).toEqual(['invalid_enrollment_key', 0]);
    } finally {
      await rotating.end();
    }
  });

  it('returns no use to the new key for a reservation of the old one', async () => {
    const { id, key } = await create({ maxUsage: 5 });
    const [open, failing] = [randomUUID(), randomUUID()];
    expect([await use(key, open), await use(key, failing)]).toEqual(['reserved', 'reserved']);
    const fresh = await rotated(id);
    await use(fresh.key);
    expect(await service.request(ENROLLMENT_KEYS_RELEASE, { deviceId: failing })).toEqual({ settled: true });
    expect(await usageOf(id)).toBe(1);
  });

  it('hashes the new key with the current pepper when the old one had a legacy pepper', async () => {
    const { id } = await create({ maxUsage: 5 });
    const old = randomUUID();
    await service.admin.query('update enrollment_key set key_hash = $2 where id = $1', [
      id,
      hashEnrollmentKey(old, LEGACY_PEPPER),
    ]);
    expect(await use(old)).toBe('reserved');
    await service.admin.query('update enrollment_key set key_hash = $2 where id = $1', [
      id,
      hashEnrollmentKey(old, LEGACY_PEPPER),
    ]);
    const { key } = await rotated(id);
    const { rows } = await service.admin.query('select key_hash from enrollment_key where id = $1', [id]);
    expect(rows).toEqual([{ key_hash: hashEnrollmentKey(key, PEPPER) }]);
    expect(await use(old)).toBe('invalid_enrollment_key');
  });
});
