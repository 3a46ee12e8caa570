import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { openCredentialsDatabase, type CredentialsDatabase } from '../../test/credentials-database.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';

describe('PartnerPrincipalsRepository', () => {
  let opened: CredentialsDatabase;
  let repository: PartnerPrincipalsRepository;
  const known = randomUUID();

  beforeAll(async () => {
    opened = await openCredentialsDatabase();
    repository = new PartnerPrincipalsRepository(opened.tenants);
    const sql = `INSERT INTO partner_directory (partner_id, name, status, version) VALUES ($1, 'P', 'active', 1)`;
    await opened.worker.query(sql, [known]);
  }, 60_000);
  afterAll(() => opened.close());

  const caller = (scope: 'system' | 'partner', partnerId: string | null) =>
    ({
      tenant: { scope, partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId: randomUUID() },
    }) as unknown as UserCaller;

  it('shows a partner to itself and to platform administrators alone', async () => {
    expect(await repository.seesPartner(caller('partner', known), known)).toBe(true);
    expect(await repository.seesPartner(caller('system', null), known)).toBe(true);
    expect(await repository.seesPartner(caller('partner', randomUUID()), known)).toBe(false);
    expect(await repository.seesPartner(caller('system', null), randomUUID())).toBe(false);
  });
});
