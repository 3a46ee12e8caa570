import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { RpcClient } from '@rmm/messaging';
import { hashEnrollmentKey } from '@rmm/secrets';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { EnrollmentReservationsRepository } from './enrollment-reservations.repository.js';
import { EnrollmentReservationsService } from './enrollment-reservations.service.js';

describe('EnrollmentReservationsService', () => {
  let opened: CredentialsTestDatabase;
  let repository: EnrollmentReservationsRepository;
  let reservations: EnrollmentReservationsService;
  let admin: pg.Client;
  let orgId: string;
  const partnerId = randomUUID();

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new EnrollmentReservationsRepository(opened.worker);
    reservations = new EnrollmentReservationsService(repository, opened.worker, {} as RpcClient);
    admin = new pg.Client({ connectionString: opened.database.adminUrl });
    await admin.connect();
    orgId = await opened.createOrganization(partnerId);
  });
  afterAll(async () => {
    await admin.end();
    await opened.stop();
  });

  async function createKey(like: { maxUsage?: number | null; expiresIn?: string; pepper?: string } = {}) {
    const { maxUsage = 1, expiresIn = '1 hour', pepper = 'now' } = like;
    const key = randomUUID();
    const { rows } = await admin.query<{ id: string }>(
      `INSERT INTO credentials.enrollment_key (partner_id, org_id, name, key_hash, max_usage, expires_at)
       VALUES ($4, $5, 'k', $1, $2, now() + $3::interval) RETURNING id`,
      [hashEnrollmentKey(key, pepper), maxUsage, expiresIn, partnerId, orgId],
    );
    const keyHashes = ['now', 'before'].map((each) => hashEnrollmentKey(key, each).toString('hex'));
    return { id: rows[0]?.id ?? '', keyHashes };
  }
  async function usageOf(id: string): Promise<number | undefined> {
    const { rows } = await admin.query<{ usage_count: number }>(
      'SELECT usage_count FROM credentials.enrollment_key WHERE id = $1',
      [id],
    );
    return rows[0]?.usage_count;
  }
  const reserve = (keyHashes: string[], deviceId = randomUUID()) => reservations.reserve({ keyHashes, deviceId });

  it('gives ten uses to exactly ten of fifty concurrent requests', async () => {
    const key = await createKey({ maxUsage: 10 });
    const replies = await Promise.all(Array.from({ length: 50 }, () => reserve(key.keyHashes)));
    expect(replies.filter((reply) => reply.reserved)).toHaveLength(10);
    expect(await usageOf(key.id)).toBe(10);
  });

  it('counts a repeated request for one device once', async () => {
    const key = await createKey();
    const deviceId = randomUUID();
    const replies = [await reserve(key.keyHashes, deviceId), await reserve(key.keyHashes, deviceId)];
    expect(replies.map((reply) => reply.reserved)).toEqual([true, true]);
    expect(await usageOf(key.id)).toBe(1);
  });

  it('returns a released use once', async () => {
    const key = await createKey();
    const deviceId = randomUUID();
    await reserve(key.keyHashes, deviceId);
    expect(await reservations.release(deviceId)).toBe(true);
    expect(await reservations.release(deviceId)).toBe(false);
    expect(await usageOf(key.id)).toBe(0);
    expect((await reserve(key.keyHashes)).reserved).toBe(true);
  });

  it('keeps a confirmed use after a later release', async () => {
    const key = await createKey();
    const deviceId = randomUUID();
    await reserve(key.keyHashes, deviceId);
    expect(await reservations.confirm(deviceId)).toBe(true);
    expect(await reservations.release(deviceId)).toBe(false);
    expect(await usageOf(key.id)).toBe(1);
  });

  it('returns no use to a key that was rotated since', async () => {
    const key = await createKey({ maxUsage: 5 });
    const deviceId = randomUUID();
    await reserve(key.keyHashes, deviceId);
    await admin.query(
      'UPDATE credentials.enrollment_key SET usage_count = 3, generation = generation + 1 WHERE id = $1',
      [key.id],
    );
    await reservations.release(deviceId);
    expect(await usageOf(key.id)).toBe(3);
  });

  it('distinguishes unknown, expired and exhausted keys', async () => {
    const [expired, exhausted] = [await createKey({ expiresIn: '-1 second' }), await createKey()];
    await reserve(exhausted.keyHashes);
    expect(await reserve([randomUUID().replaceAll('-', '').padEnd(64, '0')])).toEqual({
      reserved: false,
      reason: 'invalid_enrollment_key',
      key: null,
    });
    const presented = { orgId, partnerId, siteId: null, enrollmentSecretHash: null };
    expect(await reserve(expired.keyHashes)).toEqual({
      reserved: false,
      reason: 'enrollment_key_expired',
      key: { ...presented, enrollmentKeyId: expired.id },
    });
    expect(await reserve(exhausted.keyHashes)).toEqual({
      reserved: false,
      reason: 'enrollment_key_exhausted',
      key: { ...presented, enrollmentKeyId: exhausted.id },
    });
  });

  it('rehashes a key with a legacy pepper at its first successful use', async () => {
    const key = await createKey({ maxUsage: null, pepper: 'before' });
    expect((await reserve(key.keyHashes)).reserved).toBe(true);
    expect((await reserve(key.keyHashes.slice(0, 1))).reserved).toBe(true);
    expect((await reserve(key.keyHashes.slice(1))).reserved).toBe(false);
  });

  it('lists reservations that were not settled', async () => {
    const key = await createKey();
    const deviceId = randomUUID();
    await reserve(key.keyHashes, deviceId);
    await admin.query(
      `UPDATE credentials.enrollment_reservation SET reserved_at = now() - interval '40 seconds' WHERE device_id = $1`,
      [deviceId],
    );
    expect(await repository.listUnsettled(30, 500)).toEqual([deviceId]);
    await reservations.release(deviceId);
    expect(await repository.listUnsettled(30, 500)).toEqual([]);
  });

  it('settles more reservations than one batch in one run, by whether their devices exist', async () => {
    const key = await createKey({ maxUsage: 100_000 });
    const deviceIds: string[] = Array.from({ length: 1_100 }, () => randomUUID());
    await admin.query(
      `INSERT INTO credentials.enrollment_reservation (device_id, enrollment_key_id, generation, reserved_at)
       SELECT unnest($1::uuid[]), $2, 1, now() - interval '1 minute'`,
      [deviceIds, key.id],
    );
    await admin.query('UPDATE credentials.enrollment_key SET usage_count = 1100 WHERE id = $1', [key.id]);
    const call = (_: unknown, request: { deviceIds: string[] }) =>
      Promise.resolve({ existing: request.deviceIds.filter((id) => deviceIds.indexOf(id) % 2 === 0) });
    const replicas = [1, 2].map(() => new EnrollmentReservationsService(repository, opened.worker, { call } as never));
    const settled = await Promise.all(replicas.map((replica) => replica.settle()));
    const left = await replicas[0].settle();
    expect(settled[0] + settled[1] + left).toBe(1_100);
    expect(await usageOf(key.id)).toBe(550);
  });

  it('finds old settled reservations by an index', async () => {
    await admin.query('BEGIN');
    await admin.query('SET LOCAL enable_seqscan = off');
    const { rows } = await admin.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT device_id FROM credentials.enrollment_reservation
       WHERE settled_at < now() - interval '7 days' ORDER BY settled_at LIMIT 10`,
    );
    await admin.query('ROLLBACK');
    expect(rows.map((row) => row['QUERY PLAN']).join()).toContain('enrollment_reservation_settled');
  });
});
