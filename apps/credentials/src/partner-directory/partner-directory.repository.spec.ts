import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { openCredentialsDatabase, type CredentialsDatabase } from '../../test/credentials-database.js';
import { PartnerDirectoryRepository } from './partner-directory.repository.js';

describe('PartnerDirectoryRepository', () => {
  let opened: CredentialsDatabase;
  let repository: PartnerDirectoryRepository;
  const known = randomUUID();

  beforeAll(async () => {
    opened = await openCredentialsDatabase();
    repository = new PartnerDirectoryRepository(opened.tenants);
    const sql = `INSERT INTO partner_directory (partner_id, name, status, version) VALUES ($1, 'P', 'active', 1)`;
    await opened.worker.query(sql, [known]);
  }, 60_000);
  afterAll(() => opened.close());

  const caller = (scope: 'system' | 'partner', partnerId: string | null) =>
    ({
      tenant: { scope, partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: randomUUID() },
    }) as unknown as UserCaller;

  it('finds a partner for its own members and for platform administrators only', async () => {
    expect(await repository.find(caller('partner', known), known)).toMatchObject({
      partnerId: known,
      status: 'active',
    });
    expect(await repository.find(caller('system', null), known)).toMatchObject({ partnerId: known });
    expect(await repository.find(caller('partner', randomUUID()), known)).toBeNull();
    expect(await repository.find(caller('system', null), randomUUID())).toBeNull();
  });
});
