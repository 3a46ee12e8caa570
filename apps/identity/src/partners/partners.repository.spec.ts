import { randomUUID } from 'node:crypto';
import { TenantDatabase, WorkerDatabase, type HasTenant } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, type TestUser } from '../../test/users.js';
import { PartnersRepository } from './partners.repository.js';

const platform: HasTenant = {
  tenant: { scope: 'system', partnerId: null, orgId: null, orgAccess: 'all', orgIds: [], userId: null },
};

describe('PartnersRepository', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let partners: PartnersRepository;
  let owner: TestUser;
  let caller: HasTenant;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    partners = identity.app.get(PartnersRepository);
    owner = await registerPartner(identity, 'Acme MSP');
    const { partnerId, userId } = owner;
    caller = { tenant: { scope: 'partner', partnerId, orgId: null, orgAccess: 'all', orgIds: [], userId } };
  }, 120_000);
  afterAll(() => testApp.stop());

  it('lists partners by status and part of the name or slug, newest first', async () => {
    await registerPartner(identity, 'Beta MSP');
    const names = async (filters: object) =>
      (await partners.list(platform, { page: 1, limit: 10, ...filters })).rows.map(({ name }) => name);
    expect(await names({})).toEqual(['Beta MSP', 'Acme MSP']);
    expect(await names({ search: 'ACME' })).toEqual(['Acme MSP']);
    expect(await names({ search: 'beta-m' })).toEqual(['Beta MSP']);
    expect(await names({ status: 'suspended' })).toEqual([]);
  });

  it('cuts a page of partners with the largest settings at about 1 MB', async () => {
    await testApp.query(
      `INSERT INTO partner (name, slug, settings)
       SELECT 'Large ' || n, 'large-' || n, jsonb_build_object('text', repeat('x', 65000)) FROM generate_series(1, 20) n`,
    );
    const page = await partners.list(platform, { page: 1, limit: 100, search: 'large-' });
    expect(page).toMatchObject({ total: 20, truncated: true });
    expect(Buffer.byteLength(JSON.stringify(page.rows))).toBeLessThan(1_100_000);
    await testApp.query(`DELETE FROM partner WHERE slug LIKE 'large-%'`);
  });

  it('returns only its own partner to a partner', async () => {
    expect((await partners.list(caller, { page: 1, limit: 10 })).rows.map(({ id }) => id)).toEqual([owner.partnerId]);
    expect(await partners.findName(caller, owner.partnerId)).toBe('Acme MSP');
    const other = await registerPartner(identity, 'Gamma MSP');
    await expect(partners.get(caller, other.partnerId)).rejects.toThrow(NotFoundError);
    expect(await partners.findSecurity(caller, other.partnerId)).toBeNull();
  });

  it('stores a locked partner', async () => {
    const stored = await identity.app.get(TenantDatabase).transaction(caller, async (tx) => {
      const partner = await partners.lock(tx, owner.partnerId);
      return partners.store(tx, {
        ...partner,
        settings: { security: { requireMfa: false } },
        timezone: 'Europe/Berlin',
      });
    });
    expect(stored).toMatchObject({ id: owner.partnerId, timezone: 'Europe/Berlin', name: 'Acme MSP' });
    expect(await partners.findSecurity(caller, owner.partnerId)).toEqual({ requireMfa: false });
  });

  it('inserts a partner once per slug, with its own copy of the Partner Admin role', async () => {
    const worker = identity.app.get(WorkerDatabase);
    const created = await worker.transaction(async (tx) => {
      const partner = await partners.insertUnlessTaken(tx, { name: 'Delta', slug: 'delta' });
      expect(await partners.insertUnlessTaken(tx, { name: 'Delta', slug: 'delta' })).toBeNull();
      return { ...partner, roleId: await partners.copyAdminRole(tx, partner?.id ?? '') };
    });
    expect(created).toMatchObject({ name: 'Delta', slug: 'delta', status: 'active' });
    const [role] = await testApp.query('SELECT is_system, system_key FROM role WHERE id = $1', [created.roleId]);
    expect(role).toEqual({ is_system: true, system_key: 'partner_admin' });
    expect(await partners.listTakenSlugs(worker, 'delta')).toEqual(['delta']);
  });

  describe('for the directories of all services', () => {
    const ids: string[] = [];

    beforeAll(async () => {
      for (const name of ['Acme', 'Beta', 'Gamma']) ids.push((await registerPartner(identity, name)).partnerId);
    });

    it('returns the state of partners with the settings that other services need, and omits unknown ones', async () => {
      const settings = { enrollment: { maxTtlMinutes: 60 }, theme: 'dark', security: { requireMfa: true } };
      await testApp.query('UPDATE partner SET settings = $2, max_devices = 5 WHERE id = $1', [
        ids[0],
        JSON.stringify(settings),
      ]);
      expect(await partners.listStates([ids[0], randomUUID()])).toEqual([
        expect.objectContaining({
          partnerId: ids[0],
          name: 'Acme',
          status: 'active',
          maxOrganizations: null,
          maxDevices: 5,
          settings: { enrollment: { maxTtlMinutes: 60 } },
          version: expect.any(Number),
        }),
      ]);
    });

    it('lists all partners page by page, ordered by id', async () => {
      const listed: string[] = [];
      let after: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof partners.listSince>> = await partners.listSince({ after, limit: 2 });
        listed.push(...page.partners.map(({ partnerId }) => partnerId));
        after = page.next;
      } while (after !== null);
      const rows = await testApp.query<{ id: string }>('SELECT id FROM partner ORDER BY id');
      expect(listed).toEqual(rows.map(({ id }) => id));
      expect(listed).toEqual(expect.arrayContaining(ids));
    });
  });
});
