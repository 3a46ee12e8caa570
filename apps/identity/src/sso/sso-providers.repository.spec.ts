import { randomUUID } from 'node:crypto';
import type { TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { organizationCaller, partnerCaller } from '../../test/callers.js';
import { IdentityTestDatabase } from '../../test/identity-test-database.js';
import type { MemberScope } from '../members/member-scope.service.js';
import { SsoProvidersRepository } from './sso-providers.repository.js';

describe('SsoProvidersRepository', () => {
  let database: IdentityTestDatabase;
  let repository: SsoProvidersRepository;
  let partnerId: string;
  let orgId: string;

  beforeAll(async () => {
    database = await IdentityTestDatabase.start();
    repository = new SsoProvidersRepository(database.tenants, database.worker);
  }, 120_000);
  beforeEach(async () => {
    partnerId = await database.createPartner();
    orgId = await database.createOrganization(partnerId);
  });
  afterAll(() => database?.stop());

  const run = <T>(work: (tx: TenantTransaction) => Promise<T>, by = partnerCaller(partnerId)) =>
    database.tenants.transaction(by, work);
  const organization = (): MemberScope => ({ kind: 'organization', partnerId, orgId });
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  const create = (name = 'Okta', owner: string | null = orgId) =>
    run((tx) => repository.create(tx, { id: randomUUID(), partnerId, orgId: owner, name, type: 'oidc' }));

  it('lists and counts the providers of one owner, newest first', async () => {
    const old = await database.createProvider(partnerId, orgId, { created_at: hoursAgo(2) });
    const [own, ofPartner] = [await create(), await create('Staff', null)];
    const list = async (scope: MemberScope) =>
      (await repository.list(partnerCaller(partnerId), scope, { page: 1, limit: 10 })).rows.map(({ id }) => id);
    expect(await list(organization())).toEqual([own.id, old]);
    expect(await list({ kind: 'partner', partnerId })).toEqual([ofPartner.id]);
    expect(await run((tx) => repository.countOf(tx, organization()))).toBe(2);
  });

  it('shows, locks, changes and deletes no provider of another tenant', async () => {
    const { id } = await create();
    const strangers = [
      partnerCaller(await database.createPartner()),
      organizationCaller(partnerId, await database.createOrganization(partnerId)),
    ];
    for (const stranger of strangers) {
      const { rows } = await repository.list(stranger, organization(), { page: 1, limit: 10 });
      expect(rows).toEqual([]);
      await expect(repository.get(stranger, id)).rejects.toThrow(NotFoundError);
      await expect(run((tx) => repository.lock(tx, id), stranger)).rejects.toThrow(NotFoundError);
      await expect(run((tx) => repository.change(tx, id, { name: 'Taken' }), stranger)).rejects.toThrow(NotFoundError);
      await run((tx) => repository.remove(tx, id), stranger);
    }
    expect(await repository.get(organizationCaller(partnerId, orgId), id)).toMatchObject({ name: 'Okta' });
  });

  it('hides the provider of the partner from callers of an organization', async () => {
    const { id } = await create('Staff', null);
    await expect(repository.get(organizationCaller(partnerId, orgId), id)).rejects.toThrow(NotFoundError);
  });

  it('raises the version of the settings with each of concurrent changes', async () => {
    const { id, configVersion } = await create();
    const names = ['a', 'b', 'c', 'd'];
    const changed = await Promise.all(names.map((name) => run((tx) => repository.change(tx, id, { name }))));
    const versions = changed.map((row) => row.configVersion - configVersion).sort((a, b) => a - b);
    expect(versions).toEqual([1, 2, 3, 4]);
  });

  it('makes concurrent creates of one owner wait for each other, so that each counts the others', async () => {
    const counts = await Promise.all(
      Array.from({ length: 4 }, () =>
        run(async (tx) => {
          await repository.lockOwner(tx, { partnerId, orgId });
          const count = await repository.countOf(tx, organization());
          await repository.create(tx, { id: randomUUID(), partnerId, orgId, name: 'Okta', type: 'oidc' });
          return count;
        }),
      ),
    );
    expect(counts.sort((a, b) => a - b)).toEqual([0, 1, 2, 3]);
  });

  it('finds the oldest active OpenID Connect provider of an owner', async () => {
    await database.createProvider(partnerId, orgId, { status: 'inactive', created_at: hoursAgo(4) });
    await database.createProvider(partnerId, orgId, { type: 'saml', created_at: hoursAgo(3) });
    const oldest = await database.createProvider(partnerId, orgId, { created_at: hoursAgo(2) });
    await database.createProvider(partnerId, orgId, { created_at: hoursAgo(1) });
    const ofPartner = await database.createProvider(partnerId, null, { created_at: hoursAgo(5) });
    expect(await repository.findActive({ orgId })).toMatchObject({ id: oldest });
    expect(await repository.findActive({ partnerId, orgId: null })).toMatchObject({ id: ofPartner });
    expect(await repository.findActive({ orgId: randomUUID() })).toBeNull();
    expect(await repository.find(oldest)).toMatchObject({ orgId });
    expect(await repository.find(randomUUID())).toBeNull();
  });

  it.each([
    ['active', 'active', {}, true],
    ['active', 'trial', {}, true],
    ['active', 'suspended', {}, false],
    ['active', 'active', { deleted: true }, false],
    ['pending', 'active', {}, false],
    ['suspended', 'active', {}, false],
  ])('of partner %s and organization %s %j says whether it is active: %s', async (status, ofOrg, more, expected) => {
    const partner = await database.createPartner({ status });
    const owned = await database.createOrganization(partner, { status: ofOrg, ...more });
    expect(await repository.isTenantActive({ partnerId: partner, orgId: owned })).toBe(expected);
  });

  it('serves the staff of a pending partner, and no organization of another partner', async () => {
    const pending = await database.createPartner({ status: 'pending' });
    expect(await repository.isTenantActive({ partnerId: pending, orgId: null })).toBe(true);
    expect(await repository.isTenantActive({ partnerId: randomUUID(), orgId: null })).toBe(false);
    const other = await database.createPartner();
    expect(await repository.isTenantActive({ partnerId: other, orgId })).toBe(false);
  });

  it('finds the organization that has proven a domain', async () => {
    const domain = `${randomUUID()}.test`;
    const owner = { partner_id: partnerId, org_id: orgId, domain, txt_record_value: 'x' };
    const id = await database.insert('sso_domain', owner);
    expect(await repository.findDomainOwner(domain)).toBeNull();
    await database.query('UPDATE sso_domain SET verified_at = now() WHERE id = $1', [id]);
    expect(await repository.findDomainOwner(domain)).toBe(orgId);
  });

  it('returns the only partner of the fleet', async () => {
    await database.query('TRUNCATE partner CASCADE');
    expect(await repository.findOnlyPartner()).toBeNull();
    const only = await database.createPartner();
    expect(await repository.findOnlyPartner()).toBe(only);
    await database.createPartner();
    expect(await repository.findOnlyPartner()).toBeNull();
  });

  it('ends the sessions in an organization that began without its provider, but the current one', async () => {
    const [user, other] = [await database.createUser(), await database.createUser()];
    const inOrganization = { scope: 'organization', partner_id: partnerId, org_id: orgId, method: 'password' };
    const current = await database.createSession(user, inOrganization);
    const ended = [
      await database.createSession(user, inOrganization),
      await database.createSession(user, inOrganization),
    ];
    await database.createSession(other, { ...inOrganization, sso_provider_id: randomUUID() });
    await database.createSession(other, { ...inOrganization, absolute_expires_at: hoursAgo(1) });
    const neighbor = await database.createOrganization(partnerId);
    await database.createSession(other, { ...inOrganization, org_id: neighbor });
    await database.createSession(other, { ...inOrganization, scope: 'partner', org_id: null });
    const users = await database.worker.transaction((tx) => repository.endOtherSessions(tx, orgId, current));
    expect(users).toEqual([user]);
    const revoked = await database.query<{ id: string }>(
      `SELECT id FROM session_family WHERE revoked_reason = 'sso_enforced' AND user_id = ANY ($1) ORDER BY id`,
      [[user, other]],
    );
    expect(revoked.map(({ id }) => id)).toEqual(ended.sort());
  });
});
