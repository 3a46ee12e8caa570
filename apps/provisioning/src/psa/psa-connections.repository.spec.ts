import { randomUUID } from 'node:crypto';
import { NotFoundError } from '@rmm/service-kit';
import {
  organizationCaller,
  partnerCaller,
  ProvisioningTestDatabase,
  TEST_SECRETS,
} from '../../test/provisioning-test-database.js';
import { PsaConnectionsRepository } from './psa-connections.repository.js';

describe('PsaConnectionsRepository', () => {
  let database: ProvisioningTestDatabase;
  let connections: PsaConnectionsRepository;
  let partnerId: string;

  beforeAll(async () => {
    database = await ProvisioningTestDatabase.start();
    connections = new PsaConnectionsRepository(database.tenants, TEST_SECRETS);
  });
  afterAll(() => database?.stop());
  beforeEach(() => (partnerId = randomUUID()));

  const create = (orgId: string | null = null, name = 'PSA') =>
    database.tenants.transaction(partnerCaller(partnerId), (tx) =>
      connections.create(tx, {
        id: randomUUID(),
        partnerId,
        orgId,
        provider: 'zendesk',
        name,
        settings: {},
        credentials: {},
        secretsSealed: null,
        secretNames: [],
        createdBy: null,
      }),
    );
  const link = (orgId: string, connectionId: string | null, externalId: string) =>
    database.admin.query(
      `INSERT INTO external_link (partner_id, org_id, connection_id, system, external_id) VALUES ($1, $2, $3, 'zendesk', $4)`,
      [partnerId, orgId, connectionId, externalId],
    );

  it('shows the connections of a partner to its organizations, which cannot change them', async () => {
    const orgId = await database.createOrganization(partnerId);
    const [wide, own] = [await create(), await create(orgId)];
    const other = await create(await database.createOrganization(partnerId));
    const member = organizationCaller(partnerId, orgId);
    const page = await connections.list(member, {}, { page: 1, limit: 50 });
    expect(page.rows.map(({ id }) => id).sort()).toEqual([wide.id, own.id].sort());
    await expect(connections.get(member, other.id)).rejects.toBeInstanceOf(NotFoundError);
    await expect(connections.get(partnerCaller(randomUUID()), wide.id)).rejects.toBeInstanceOf(NotFoundError);
    const change = (id: string) =>
      database.tenants.transaction(member, (tx) => connections.change(tx, id, { name: 'Mine' }));
    await expect(change(wide.id)).rejects.toBeInstanceOf(NotFoundError);
    expect(await change(own.id)).toMatchObject({ name: 'Mine', nameKey: 'mine' });
  });

  it('hides the connections of a deleted organization', async () => {
    const orgId = await database.createOrganization(partnerId);
    const { id } = await create(orgId);
    await database.admin.query('UPDATE organization SET deleted_at = now() WHERE id = $1', [orgId]);
    await expect(connections.get(partnerCaller(partnerId), id)).rejects.toBeInstanceOf(NotFoundError);
  });

  it('finds the linked companies of one connection, and deletes them with it alone', async () => {
    const orgId = await database.createOrganization(partnerId);
    const [one, other] = [await create(), await create()];
    await link(orgId, one.id, '1');
    await link(orgId, other.id, '1');
    await link(orgId, null, '1');
    await link(orgId, one.id, '2');
    await expect(link(orgId, one.id, '2')).rejects.toMatchObject({ constraint: 'external_link_key' });
    await expect(link(orgId, null, '1')).rejects.toMatchObject({ constraint: 'external_link_key' });
    const caller = partnerCaller(partnerId);
    expect(await connections.listLinkedIds(caller, one, ['1', '2', '3'])).toEqual(new Set(['1', '2']));
    expect(await connections.listLinkedIds(caller, other, ['1', '2', '3'])).toEqual(new Set(['1']));
    expect(await database.tenants.transaction(caller, (tx) => connections.remove(tx, one))).toBe(2);
    expect(await connections.listLinkedIds(caller, other, ['1'])).toEqual(new Set(['1']));
    const { rows } = await database.admin.query('SELECT 1 FROM external_link WHERE partner_id = $1', [partnerId]);
    expect(rows).toHaveLength(2);
  });

  it('refuses a link to the connection of another partner', async () => {
    const { id } = await create();
    partnerId = randomUUID();
    const orgId = await database.createOrganization(partnerId);
    await expect(link(orgId, id, '1')).rejects.toMatchObject({ code: '23503' });
  });

  it('counts for each owner, and stores tests and imports', async () => {
    const orgId = await database.createOrganization(partnerId);
    const { id } = await create();
    await create(orgId);
    await database.tenants.transaction(partnerCaller(partnerId), async (tx) => {
      expect(await connections.countOf(tx, partnerId, null)).toBe(1);
      expect(await connections.countOf(tx, partnerId, orgId)).toBe(1);
      await connections.recordTest(tx, id, 'error');
      await connections.recordImport(tx, id);
      expect(await connections.lock(tx, id)).toMatchObject({
        status: 'error',
        lastTestedAt: expect.any(Date),
        lastSyncedAt: expect.any(Date),
      });
    });
  });
});
