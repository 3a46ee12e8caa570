import { randomUUID } from 'node:crypto';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { AuditNamesRepository } from './audit-names.repository.js';

describe('AuditNamesRepository', () => {
  let database: IdentityTestDatabase;
  let repository: AuditNamesRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new AuditNamesRepository(database.tenants);
    partnerId = await database.createPartner();
  }, 120_000);
  afterAll(() => database?.stop());

  const insert = (orgId: string, names: Record<string, string>) =>
    repository.insert(
      database.worker,
      Object.entries(names).map(([pseudonym, name]) => ({ orgId, partnerId, pseudonym, name })),
    );

  it('creates one salt for each organization, also for concurrent first entries', async () => {
    const [one, two] = [randomUUID(), randomUUID()].map((orgId) => ({ orgId, partnerId }));
    const salts = await Promise.all(
      Array.from({ length: 4 }, (_, n) =>
        database.worker.transaction((tx) => repository.ensureSalts(tx, n % 2 ? [one, two] : [two, one])),
      ),
    );
    expect(new Set(salts.map((each) => each.get(one.orgId)?.toString('hex'))).size).toBe(1);
    expect(salts[0]?.get(one.orgId)).toHaveLength(32);
    expect(salts[0]?.get(one.orgId)).not.toEqual(salts[0]?.get(two.orgId));
    const [first] = salts;
    expect(await repository.listSalts(database.worker, [one.orgId, two.orgId, randomUUID()])).toEqual(first);
  });

  it('keeps the name that a pseudonym has', async () => {
    const orgId = randomUUID();
    await insert(orgId, { p1: 'Pat', p2: 'Robin' });
    await insert(orgId, { p1: 'Changed', p3: 'Kim' });
    await insert(orgId, {});
    const names = await repository.list(database.worker, [orgId], ['p1', 'p3', 'unknown']);
    expect(names.sort((a, b) => a.pseudonym.localeCompare(b.pseudonym))).toEqual([
      { orgId, pseudonym: 'p1', name: 'Pat' },
      { orgId, pseudonym: 'p3', name: 'Kim' },
    ]);
  });

  it('shows names to callers with access to the organization only', async () => {
    const orgId = await database.createOrganization(partnerId);
    await insert(orgId, { p1: 'Pat' });
    const list = async (caller: ReturnType<typeof partnerCaller>) =>
      (await repository.list(caller, [orgId], ['p1'])).map(({ name }) => name);
    expect(await list(partnerCaller(partnerId))).toEqual(['Pat']);
    expect(await list(organizationCaller(partnerId, orgId))).toEqual(['Pat']);
    expect(await list(organizationCaller(partnerId, await database.createOrganization(partnerId)))).toEqual([]);
    expect(await list(partnerCaller(await database.createPartner()))).toEqual([]);
  });

  it('lists the organizations that are erased or about to be', async () => {
    const erased = await database.createOrganization(partnerId);
    await database.query('INSERT INTO organization_erasure (org_id, partner_id) VALUES ($1, $2)', [erased, partnerId]);
    expect(await repository.listErased(database.worker, [erased, randomUUID()])).toEqual(new Set([erased]));
  });
});
