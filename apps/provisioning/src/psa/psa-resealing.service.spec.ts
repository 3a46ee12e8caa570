import { randomUUID } from 'node:crypto';
import { KeyRing } from '@rmm/secrets';
import type { Logger } from '@rmm/service-kit';
import { ProvisioningTestDatabase } from '../../test/provisioning-test-database.js';
import type { PsaConnection } from './psa-connection.entity.js';
import { PsaResealingService } from './psa-resealing.service.js';
import { PsaSealingService } from './psa-sealing.service.js';
import { PsaSecretsRepository } from './psa-secrets.repository.js';

const keys = { old: Buffer.alloc(32, 1), fresh: Buffer.alloc(32, 2) };
const sealingWith = (activeKid: keyof typeof keys, kids: (keyof typeof keys)[] = ['old', 'fresh']) =>
  new PsaSealingService(new KeyRing({ keys: Object.fromEntries(kids.map((kid) => [kid, keys[kid]])), activeKid }));
const CREDENTIALS = { baseUrl: 'https://acme.zendesk.com', email: 'a@acme.example', apiToken: 'secret' };

let database: ProvisioningTestDatabase;
const secrets = new PsaSecretsRepository();

beforeAll(async () => {
  database = await ProvisioningTestDatabase.start();
});
afterAll(() => database?.stop());
beforeEach(() => database.admin.query('DELETE FROM psa_connection'));

/** Inserts connections whose secrets a key has sealed. @returns their ids in order */
async function insert(count: number, sealing: PsaSealingService): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID()).sort();
  const sealed = ids.map((id) => sealing.seal(id, 'zendesk', CREDENTIALS).secretsSealed);
  await database.admin.query(
    `INSERT INTO psa_connection (id, partner_id, provider, name, name_key, secrets_sealed, secret_names, updated_at)
     SELECT id, $3, 'zendesk', 'n', 'n', sealed, '{apiToken}', '2020-01-01Z' FROM unnest($1::uuid[], $2::text[]) AS t(id, sealed)`,
    [ids, sealed, randomUUID()],
  );
  return ids;
}
const stored = async () =>
  (
    await database.admin.query<{ id: string; secretsSealed: string; updatedAt: Date }>(
      `SELECT id, secrets_sealed AS "secretsSealed", updated_at AS "updatedAt" FROM psa_connection ORDER BY id`,
    )
  ).rows;
const kidOf = (sealed: string) => sealed.split('.')[1];

describe('PsaResealingService', () => {
  const logger = { error: jest.fn(), warn: jest.fn() };
  const resealing = (sealing: PsaSealingService) =>
    new PsaResealingService(database.worker, secrets, sealing, logger as unknown as Logger);
  beforeEach(() => jest.clearAllMocks());

  it('seals everything with the active key after a rotation, also when replicas run at once', async () => {
    const ids = await insert(450, sealingWith('old'));
    const rotated = sealingWith('fresh');
    await Promise.all([resealing(rotated).run(), resealing(rotated).run()]);
    const rows = await stored();
    expect(new Set(rows.map(({ secretsSealed }) => kidOf(secretsSealed)))).toEqual(new Set(['fresh']));
    const alone = sealingWith('fresh', ['fresh']);
    const row = { ...rows[0], credentials: {} } as unknown as PsaConnection;
    expect(alone.open(row)).toEqual({ apiToken: 'secret' });
    expect(rows[0]).toMatchObject({ id: ids[0], updatedAt: new Date('2020-01-01T00:00:00Z') });
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('leaves and counts secrets whose key is gone', async () => {
    await insert(2, sealingWith('old', ['old']));
    const before = await stored();
    await resealing(sealingWith('fresh', ['fresh'])).run();
    expect(await stored()).toEqual(before);
    expect(logger.error).toHaveBeenCalledWith({ unopened: 2 }, expect.stringContaining('stay as they are'));
  });

  it('logs a failure at the start, which the service survives', async () => {
    const failing = new PsaResealingService(
      { transaction: () => Promise.reject(new Error('down')) } as never,
      secrets,
      sealingWith('fresh'),
      logger as unknown as Logger,
    );
    failing.onApplicationBootstrap();
    await failing.onModuleDestroy();
    expect(logger.warn).toHaveBeenCalledTimes(1);
  });
});
