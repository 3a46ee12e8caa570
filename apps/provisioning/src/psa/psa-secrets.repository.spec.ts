import { randomUUID } from 'node:crypto';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import { PsaSecretsRepository } from './psa-secrets.repository.js';

const secrets = new PsaSecretsRepository();
const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);

describe('PsaSecretsRepository', () => {
  let database: ProvisioningTestDatabase;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
  });
  afterAll(() => database?.stop());
  beforeEach(() => database.admin.query('DELETE FROM psa_connection'));

  /** Inserts a connection for each text. @returns their ids in order */
  async function insert(sealed: (string | null)[]): Promise<string[]> {
    const ids = sealed.map(() => randomUUID()).sort();
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key, secrets_sealed, secret_names)
       SELECT id, id, 'zendesk', 'n', 'n', sealed, CASE WHEN sealed IS NULL THEN '{}' ELSE '{apiToken}' END::text[]
         FROM unnest($1::uuid[], $2::text[]) AS t(id, sealed)`,
      [ids, sealed],
    );
    return ids;
  }

  it('locks what another key sealed, in batches, and leaves locked rows to others', async () => {
    const ids = await insert(['v1.old.a', 'v1.fresh.b', 'v1.old.c', null]);
    await database.worker.transaction(async (tx) => {
      expect(await secrets.lockOutdated(tx, 'fresh', null, 1)).toEqual([{ id: ids[0], sealed: 'v1.old.a' }]);
      expect(idsOf(await secrets.lockOutdated(tx, 'fresh', ids[0], 10))).toEqual([ids[2]]);
      const free = await database.admin.query<{ id: string }>(
        'SELECT id FROM psa_connection ORDER BY id FOR UPDATE SKIP LOCKED',
      );
      expect(idsOf(free.rows)).toEqual([ids[1], ids[3]]);
      await secrets.replace(tx, [{ id: ids[2], sealed: 'v1.fresh.d' }]);
    });
    const { rows } = await database.admin.query('SELECT secrets_sealed AS sealed FROM psa_connection ORDER BY id');
    expect(rows.map(({ sealed }) => sealed as string | null)).toEqual(['v1.old.a', 'v1.fresh.b', 'v1.fresh.d', null]);
  });
});
