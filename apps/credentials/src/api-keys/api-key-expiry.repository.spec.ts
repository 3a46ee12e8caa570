import { randomBytes, randomUUID } from 'node:crypto';
import pg from 'pg';
import { countReads, explainStatements } from '@rmm/persistence/testing';
import { buildPartnerCaller } from '../../test/callers.js';
import { CredentialsTestDatabase } from '../../test/credentials-test-database.js';
import { ApiKeyExpiryRepository } from './api-key-expiry.repository.js';
import { ApiKeysRepository } from './api-keys.repository.js';

const DAY_MS = 86_400_000;

describe('ApiKeyExpiryRepository', () => {
  let opened: CredentialsTestDatabase;
  let repository: ApiKeyExpiryRepository;

  beforeAll(async () => {
    opened = await CredentialsTestDatabase.start();
    repository = new ApiKeyExpiryRepository(opened.worker);
  });
  afterAll(() => opened.stop());

  /** Creates a key that expires this long from now. */
  async function create(expiresInMs: number, more: object = {}) {
    const partnerId = randomUUID();
    const owner = { partnerId, orgId: await opened.createOrganization(partnerId), createdBy: randomUUID() };
    const key = { ...owner, name: 'Reports', keyPrefix: 'svc_12345678', scopes: [], rateLimit: 10, ...more };
    const expiresAt = new Date(Date.now() + expiresInMs);
    return opened.tenants.transaction(buildPartnerCaller(partnerId), (tx) =>
      new ApiKeysRepository(opened.tenants).create(tx, { ...key, keyHash: randomBytes(32), expiresAt }),
    );
  }

  it('marks the given keys as expired, or all', async () => {
    const [first, second] = [await create(-1_000), await create(-1_000)];
    const mark = (ids: string[] | null) => opened.worker.transaction((tx) => repository.markExpired(tx, ids, 10));
    expect((await mark([first.id])).map((row) => row.id)).toEqual([first.id]);
    expect((await mark(null)).map((row) => row.id)).toContain(second.id);
    expect(await mark(null)).toEqual([]);
  });

  it('finds expired keys without reading those that have expired long ago or are active', async () => {
    const { partnerId, orgId } = await create(DAY_MS);
    const admin = new pg.Client({ connectionString: opened.database.adminUrl });
    await admin.connect();
    await admin.query(
      `INSERT INTO credentials.api_key (partner_id, org_id, name, key_prefix, key_hash, scopes, rate_limit, status, expires_at)
       SELECT $1, $2, 'Many', 'svc_12345678', sha256(convert_to(n::text, 'UTF8')), '{}', 10,
         CASE WHEN n % 5 = 0 THEN 'expired' ELSE 'active' END,
         now() + CASE WHEN n % 5 = 0 THEN interval '-90 days' WHEN n % 5 = 1 THEN interval '90 days' END
       FROM generate_series(1, 3000) n`,
      [partnerId, orgId],
    );
    await admin.query('ANALYZE credentials.api_key');
    await admin.end();
    await create(-1_000);
    await opened.worker.transaction(async (tx) => {
      const { explaining, plans } = explainStatements(tx);
      await repository.markExpired(explaining, null, 500);
      expect(countReads(plans[0])).toBeLessThan(100);
    });
  });

  it('deletes the hash of a previous key once its overlap has ended', async () => {
    const past = await create(DAY_MS, { previousKeyHash: randomBytes(32), previousValidUntil: new Date(0) });
    const future = await create(DAY_MS, {
      previousKeyHash: randomBytes(32),
      previousValidUntil: new Date(Date.now() + DAY_MS),
    });
    await repository.deleteEndedPreviousKeys();
    const rows = await opened.worker.query<{ id: string }>(
      'SELECT id FROM api_key WHERE previous_key_hash IS NOT NULL AND id = ANY (:ids)',
      { ids: [past.id, future.id] },
    );
    expect(rows.map((row) => row.id)).toEqual([future.id]);
  });

  it('finds keys for the nearest reminder until it is stored as sent', async () => {
    const createdAt = new Date(Date.now() - 60 * DAY_MS);
    const { id } = await create(2 * DAY_MS, { createdAt });
    const due = async () => (await repository.findExpiring([3, 14], 100, null)).filter((key) => key.id === id);
    expect(await due()).toMatchObject([{ id, days: 3 }]);
    await repository.setReminded(id);
    expect(await due()).toEqual([]);
  });

  it('lists the keys to be reminded in pages', async () => {
    const createdAt = new Date(Date.now() - 60 * DAY_MS);
    for (let n = 0; n < 3; n += 1) await create(DAY_MS, { createdAt });
    const all = await repository.findExpiring([3, 14], 100, null);
    expect(all.length).toBeGreaterThanOrEqual(3);
    const paged: string[] = [];
    for (let page = await repository.findExpiring([3, 14], 1, null); page.length > 0;) {
      paged.push(page[0].id);
      page = await repository.findExpiring([3, 14], 1, page[0]);
    }
    expect(paged).toEqual(all.map((key) => key.id));
  });
});
