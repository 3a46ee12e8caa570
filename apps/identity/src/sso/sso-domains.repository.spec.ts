import { isUniqueViolation, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import { SsoDomainsRepository } from './sso-domains.repository.js';

describe('SsoDomainsRepository', () => {
  let database: IdentityTestDatabase;
  let repository: SsoDomainsRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new SsoDomainsRepository(database.tenants);
  }, 120_000);
  beforeEach(async () => {
    partnerId = await database.createPartner();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, by = partnerCaller(partnerId)) =>
    database.tenants.transaction(by, work);
  const create = (domain: string, value = 'proof', organization = orgId) =>
    run((tx) => repository.create(tx, { partnerId, orgId: organization, domain, txtRecordValue: value }));

  it('stores a domain once for each organization, and keeps its record', async () => {
    const { row, isNew } = await create('acme.test');
    expect([row.verifiedAt, isNew]).toEqual([null, true]);
    expect(await create('acme.test', 'another')).toEqual({ row, isNew: false });
    const other = await database.createOrganization(partnerId);
    expect((await create('acme.test', 'proof', other)).isNew).toBe(true);
    expect(await run((tx) => repository.countOf(tx, orgId))).toBe(1);
  });

  it('lists the domains of one organization, newest first, and none to callers of another tenant', async () => {
    const [first, second] = [await create('first.test'), await create('second.test')];
    await create('else.test', 'proof', await database.createOrganization(partnerId));
    await database.query(`UPDATE sso_domain SET created_at = now() - INTERVAL '1 day' WHERE id = $1`, [first.row.id]);
    const list = async (by = partnerCaller(partnerId)) =>
      (await repository.list(by, orgId, { page: 1, limit: 10 })).rows.map(({ id }) => id);
    expect(await list()).toEqual([second.row.id, first.row.id]);
    expect(await list(organizationCaller(partnerId, orgId))).toHaveLength(2);
    expect(await list(partnerCaller(await database.createPartner()))).toEqual([]);
    const neighbor = await database.createOrganization(partnerId);
    expect(await list(organizationCaller(partnerId, neighbor))).toEqual([]);
  });

  it('reads, proves and removes no domain of another tenant', async () => {
    const { row } = await create('acme.test');
    const strangers = [
      partnerCaller(await database.createPartner()),
      organizationCaller(partnerId, await database.createOrganization(partnerId)),
    ];
    for (const stranger of strangers) {
      await expect(repository.get(stranger, row.id)).rejects.toThrow(NotFoundError);
      await expect(run((tx) => repository.markVerified(tx, row.id), stranger)).rejects.toThrow(NotFoundError);
      await run((tx) => repository.remove(tx, row.id), stranger);
    }
    expect(await repository.get(partnerCaller(partnerId), row.id)).toEqual(row);
    await run((tx) => repository.remove(tx, row.id));
    await expect(repository.get(partnerCaller(partnerId), row.id)).rejects.toThrow(NotFoundError);
  });

  it('keeps the time of the first proof', async () => {
    const { row } = await create('acme.test');
    const { verifiedAt } = await run((tx) => repository.markVerified(tx, row.id));
    expect(verifiedAt).toBeInstanceOf(Date);
    expect((await run((tx) => repository.markVerified(tx, row.id))).verifiedAt).toEqual(verifiedAt);
  });

  it('lets one of two organizations prove a domain', async () => {
    const rival = await database.createOrganization(partnerId);
    const [own, other] = [await create('raced.test'), await create('raced.test', 'proof', rival)];
    const proofs = await Promise.allSettled(
      [own, other].map(({ row }) => run((tx) => repository.markVerified(tx, row.id))),
    );
    const refused = proofs.filter((proof) => proof.status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(isUniqueViolation(refused[0]?.reason, 'sso_domain_verified_key')).toBe(true);
  });

  it('makes concurrent creates of an organization wait for each other, so that each counts the others', async () => {
    const counts = await Promise.all(
      Array.from({ length: 5 }, (_, n) =>
        run(async (tx) => {
          await repository.lockOrganization(tx, orgId);
          const count = await repository.countOf(tx, orgId);
          await repository.create(tx, { partnerId, orgId, domain: `d${n}.test`, txtRecordValue: 'proof' });
          return count;
        }),
      ),
    );
    expect(counts.sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
  });
});
