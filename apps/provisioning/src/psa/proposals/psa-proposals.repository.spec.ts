import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../../test/provisioning-test-database.js';
import type { CompanyRow } from '../company-row.mapper.js';
import type { PsaConnection } from '../psa-connection.entity.js';
import type { ProposalStatus } from './psa-proposal.entity.js';
import { PsaProposalsRepository, type CompanyRename } from './psa-proposals.repository.js';

const company = (id: number, name = `Company ${id}`): CompanyRow => ({
  organization: name,
  externalId: String(id),
  externalSystem: 'zendesk',
  contact: { email: 'kim@customer.example' },
});

describe('PsaProposalsRepository', () => {
  let database: ProvisioningTestDatabase;
  let proposals: PsaProposalsRepository;
  let caller: UserCaller;
  let connection: PsaConnection;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    proposals = new PsaProposalsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(async () => {
    const partnerId = randomUUID();
    caller = partnerCaller(partnerId);
    connection = { id: randomUUID(), partnerId, provider: 'zendesk' } as PsaConnection;
    await database.admin.query(
      `INSERT INTO psa_connection (id, partner_id, provider, name, name_key) VALUES ($1, $2, 'zendesk', 'n', 'n')`,
      [connection.id, partnerId],
    );
  });

  const save = (companies: CompanyRow[], renames: CompanyRename[] = [], seenBy = randomUUID()) =>
    database.tenants.transaction(caller, (tx) => proposals.save(tx, connection, { seenBy, companies, renames }));
  const dismiss = (ids: string[]) =>
    database.tenants.transaction(caller, (tx) => proposals.dismiss(tx, connection, ids));
  const list = async (status: ProposalStatus = 'open', as = caller) => {
    const page = { page: 1, limit: 100, sort: 'name' as const };
    return (await proposals.list(as, { connectionId: connection.id, status }, page)).rows;
  };
  const namesOf = async (status?: ProposalStatus) => (await list(status)).map(({ name }) => name);
  const link = (orgId: string, externalId: string) =>
    database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, connection_id, system, external_id) VALUES ($1, $2, $3, 'zendesk', $4)`,
      [connection.partnerId, orgId, connection.id, externalId],
    );

  it('adds each company once and keeps open ones current', async () => {
    expect(await save([company(1), company(2)])).toBe(2);
    expect(await save([company(2, 'Renamed'), company(3)])).toBe(1);
    expect(await namesOf()).toEqual(['Company 1', 'Company 3', 'Renamed']);
    expect((await list())[2]?.company).toEqual(company(2, 'Renamed'));
  });

  it('stores 2,500 companies', async () => {
    expect(await save(Array.from({ length: 2_500 }, (_, index) => company(index + 1)))).toBe(2_500);
  });

  it('keeps a dismissed company dismissed under any name, with its id and name only', async () => {
    await save([company(1), company(2)]);
    const [first] = await list();
    expect(await dismiss([first.id, randomUUID()])).toBe(1);
    expect(await dismiss([first.id])).toBe(0);
    expect(await save([company(1, 'Other name')])).toBe(0);
    expect(await namesOf()).toEqual(['Company 2']);
    expect(await list('dismissed')).toMatchObject([{ externalId: '1', name: 'Company 1', company: null }]);
    const statuses = await proposals.listStatuses(caller, connection, ['1', '2', '3']);
    expect(Object.fromEntries(statuses)).toEqual({ 1: 'dismissed', 2: 'open' });
  });

  it('reports a rename with its organization, again only under yet another name', async () => {
    const orgId = await database.createOrganization(connection.partnerId, { name: 'Ours' });
    const rename = (name: string) => save([], [{ externalId: '1', orgId, name }]);
    await rename('Theirs');
    const [row] = await list();
    expect(row).toMatchObject({ kind: 'rename', name: 'Theirs', orgId, organizationName: 'Ours', company: null });
    await dismiss([row.id]);
    await rename('THEIRS');
    expect(await namesOf()).toEqual([]);
    await rename('Another');
    expect(await namesOf()).toEqual(['Another']);
  });

  it('deletes what a complete run did not see, and keeps dismissed companies in mind', async () => {
    const orgId = await database.createOrganization(connection.partnerId);
    await save([company(1), company(2), company(3)], [{ externalId: '9', orgId, name: 'Theirs' }]);
    await dismiss([(await list())[0].id]);
    const seenBy = randomUUID();
    await save([company(2)], [], seenBy);
    await database.tenants.transaction(caller, (tx) => proposals.deleteUnseen(tx, connection, seenBy));
    expect(await namesOf()).toEqual(['Company 2']);
    expect(await namesOf('dismissed')).toEqual(['Company 1']);
  });

  it('hides proposals of linked companies and deletes them alone', async () => {
    const orgId = await database.createOrganization(connection.partnerId);
    await save([company(1), company(2)]);
    await link(orgId, '1');
    const stored = async () =>
      (await database.admin.query('SELECT 1 FROM psa_proposal WHERE connection_id = $1', [connection.id])).rowCount;
    expect(await namesOf()).toEqual(['Company 2']);
    expect(await stored()).toBe(2);
    await database.tenants.transaction(caller, (tx) => proposals.deleteLinked(tx, connection));
    expect(await stored()).toBe(1);
  });

  it('returns the organizations of linked companies, deleted ones marked', async () => {
    const { partnerId } = connection;
    const [one, two] = [await database.createOrganization(partnerId), await database.createOrganization(partnerId)];
    await link(one, '1');
    await link(two, '2');
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [two]);
    const linked = await proposals.listLinked(caller, connection, ['1', '2', '3']);
    expect(linked.sort((a, b) => a.externalId.localeCompare(b.externalId))).toEqual([
      { externalId: '1', orgId: one, nameKey: 'acme', isDeleted: false },
      { externalId: '2', orgId: two, nameKey: 'acme', isDeleted: true },
    ]);
  });

  it('returns companies in the order of their ids, and refuses what is not an open company', async () => {
    await save([company(1), company(2), company(3)]);
    const [a, b, c] = (await list()).map(({ id }) => id);
    const found = await proposals.getCompanies(caller, connection.id, [c, a]);
    expect(found.map(({ id }) => id)).toEqual([c, a]);
    await dismiss([b]);
    for (const id of [b, randomUUID()]) {
      await expect(proposals.getCompanies(caller, connection.id, [a, id])).rejects.toBeInstanceOf(NotFoundError);
    }
    await expect(proposals.getCompanies(caller, randomUUID(), [a])).rejects.toBeInstanceOf(NotFoundError);
  });

  it('is seen by callers with access to the whole partner alone', async () => {
    await save([company(1)]);
    const orgId = await database.createOrganization(connection.partnerId);
    const selected = partnerCaller(connection.partnerId);
    Object.assign(selected.tenant, { orgAccess: 'selected', orgIds: [orgId] });
    const others = [partnerCaller(randomUUID()), organizationCaller(connection.partnerId, orgId), selected];
    for (const as of others) expect(await list('open', as)).toEqual([]);
    expect(await list()).toHaveLength(1);
  });

  it('ends with its connection', async () => {
    await save([company(1)]);
    await database.admin.query('DELETE FROM psa_connection WHERE id = $1', [connection.id]);
    expect(await list()).toEqual([]);
  });
});
