import { randomUUID } from 'node:crypto';
import { CREDENTIALS_KEYS_RECORD_USAGE, type KeyUse } from '@rmm/contracts';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { CleanUpKeyUsageJob } from './clean-up-key-usage.job.js';

const DAY_MS = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

describe('KeyUsageService', () => {
  let service: CredentialsTestApp;
  let orgId: string;
  let ours: Awaited<ReturnType<CredentialsTestApp['as']>>;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ orgId, owner: ours } = await service.createTenant());
  });
  afterAll(() => service?.stop());

  const create = async () =>
    (await ours.post('/api-keys', { orgId, name: 'Reports', scopes: [] }).expect(201)).body.id as string;
  const use = (keyId: string, count: number, lastUsedAt = daysAgo(0)): KeyUse => ({
    keyId,
    kind: 'api_key',
    generation: 1,
    count,
    lastUsedAt,
  });
  const record = (uses: KeyUse[], batchId: string = randomUUID()) =>
    service.request(CREDENTIALS_KEYS_RECORD_USAGE, { batchId, uses });

  it('adds up uses and keeps the latest time in any order', async () => {
    const id = await create();
    const [now, before] = [daysAgo(0), daysAgo(1)];
    expect(await record([use(id, 5, now)])).toEqual({ recorded: 1 });
    await record([use(id, 2, before)]);
    expect((await ours.get(`/api-keys/${id}`)).body).toMatchObject({ usageCount: 7, lastUsedAt: now });
  });

  it('counts a batch once, also when it is sent repeatedly and concurrently', async () => {
    const id = await create();
    const batchId = randomUUID();
    await Promise.all(Array.from({ length: 8 }, () => record([use(id, 3)], batchId)));
    expect((await ours.get(`/api-keys/${id}`)).body.usageCount).toBe(3);
    expect((await ours.get(`/api-keys/${id}/usage?days=1`)).body.total).toBe(3);
  });

  it('counts all of many concurrent batches of the same keys', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, create));
    const shuffled = () => [...ids].sort(() => Math.random() - 0.5).map((id) => use(id, 1));
    await Promise.all(Array.from({ length: 20 }, () => record(shuffled())));
    const { rows } = await service.admin.query(
      'SELECT DISTINCT usage_count::int AS n FROM api_key WHERE id = ANY ($1)',
      [ids],
    );
    expect(rows).toEqual([{ n: 20 }]);
  });

  it('ignores uses of unknown keys', async () => {
    const id = await create();
    expect(await record([use(randomUUID(), 1), use(id, 1)])).toEqual({ recorded: 1 });
  });

  it('returns the uses of each of the 90 days', async () => {
    const id = await create();
    await record([use(id, 4, daysAgo(0))]);
    await record([use(id, 3, daysAgo(2))]);
    await record([use(id, 2, daysAgo(2))]);
    const { body } = await ours.get(`/api-keys/${id}/usage`);
    expect(body.days).toHaveLength(90);
    expect([body.from, body.to]).toEqual([daysAgo(89).slice(0, 10), daysAgo(0).slice(0, 10)]);
    expect(body.days.slice(-3).map(({ count }: { count: number }) => count)).toEqual([5, 0, 4]);
    expect(body.total).toBe(9);
    expect((await ours.get(`/api-keys/${id}/usage?days=2`)).body).toMatchObject({ total: 4 });
    for (const days of ['0', '91', 'x'])
      expect((await ours.get(`/api-keys/${id}/usage?days=${days}`)).status).toBe(400);
    expect((await ours.get(`/api-keys/${randomUUID()}/usage`)).status).toBe(404);
  });

  it('deletes days after 90 days and batches after one day', async () => {
    const id = await create();
    await record([use(id, 1, daysAgo(89)), use(id, 1, daysAgo(90))]);
    await service.admin.query(`UPDATE key_usage_batch SET received_at = now() - interval '25 hours'`);
    await service.app.get(CleanUpKeyUsageJob).run();
    const { rows } = await service.admin.query('SELECT count(*)::int AS n FROM api_key_usage WHERE key_id = $1', [id]);
    expect(rows).toEqual([{ n: 1 }]);
    expect((await service.admin.query('SELECT 1 FROM key_usage_batch')).rows).toEqual([]);
  });
});
