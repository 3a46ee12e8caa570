import { randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { TenantDatabase } from '@rmm/persistence';
import { StatementPlans } from '@rmm/persistence/testing';
import { ignoredParameters, listOperations, listProblems, type ListOperation } from '@rmm/testing/openapi';
import { FakeProvisioning } from '../test/fake-provisioning.js';
import { IdentityTestApp, type IdentityReplica } from '../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, signInAdmin } from '../test/users.js';

jest.setTimeout(180_000);

const [ORGANIZATION, SITE, PROVIDER] = Array.from({ length: 3 }, () => randomUUID());
/** The organizations of a member who is restricted to some. */
const SELECTED = [ORGANIZATION, ...Array.from({ length: 999 }, () => randomUUID())];

/** Partners with members, roles, sessions and audit entries, besides those that exist. */
const SEED = `
  SET session_replication_role = replica;
  INSERT INTO partner (name, slug, created_at)
  SELECT 'Partner ' || n, 'seeded-' || n, now() - n * interval '1 hour' FROM generate_series(1, 2000) n;
  INSERT INTO role (partner_id, scope, name) SELECT id, 'partner', 'Role' FROM partner;
  INSERT INTO user_account (email, name, status)
  SELECT 'seeded-' || n || '@users.test', 'User ' || n, 'active' FROM generate_series(1, 20000) n;
  INSERT INTO partner_membership (partner_id, user_id, role_id, created_at)
  SELECT r.partner_id, u.id, r.id, now() - random() * interval '90 days'
  FROM (SELECT id, row_number() OVER () AS n FROM user_account WHERE email LIKE 'seeded-%') u
  JOIN (SELECT id, partner_id, row_number() OVER () AS n FROM role WHERE name = 'Role') r ON r.n = 1 + u.n % 2000;
  INSERT INTO organization_membership (partner_id, org_id, user_id, role_id, created_at)
  SELECT partner_id, gen_random_uuid(), user_id, role_id, created_at FROM partner_membership;
  INSERT INTO sso_provider (id, partner_id, org_id, name, type)
  SELECT CASE WHEN o.org_id = '${ORGANIZATION}' THEN '${PROVIDER}' ELSE gen_random_uuid() END, o.partner_id, o.org_id, 'SSO', 'oidc'
  FROM (SELECT partner_id, org_id FROM organization_directory UNION
    SELECT partner_id, org_id FROM organization_membership) o;
  INSERT INTO scim_token (partner_id, org_id, provider_id, name, token_prefix, token_hash)
  SELECT partner_id, org_id, id, 'Token', 'scim_', sha256(id::text::bytea) FROM sso_provider;
  SET session_replication_role = DEFAULT;
  INSERT INTO audit_entry (id, timestamp, partner_id, sequence, actor_type, action, resource_type, result, details,
    canonical, checksum, previous_checksum)
  SELECT gen_random_uuid(), now() - n * interval '1 minute', id, n, 'user', 'role.create', 'role', 'success', '{}', '', '', ''
  FROM partner, generate_series(1, 10) n WHERE slug LIKE 'seeded-%';
  ANALYZE`;

describe('lists of identity', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let plans: StatementPlans;
  let provisioning: FakeProvisioning;
  let operations: ListOperation[];
  /** The lists with the role of an organization. */
  let ofOrganization: ListOperation[];
  let callers: Record<string, string>;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    const { bearer, partnerId } = await registerPartner(identity);
    await testApp.query(
      `INSERT INTO organization_directory (org_id, partner_id, name, slug, status, version)
       SELECT org_id, $2, 'Org', org_id, 'active', 1 FROM unnest($1::uuid[]) AS o (org_id)`,
      [SELECTED, partnerId],
    );
    provisioning = await FakeProvisioning.start(testApp, new Set([SITE]));
    const partner = await enrollTotp(identity, bearer);
    const technician = await roleId(identity, partner.bearer, 'Partner Technician');
    const orgAdmin = await roleId(identity, partner.bearer, 'Org Admin', `&orgId=${ORGANIZATION}`);
    const signIn = async (invite: Record<string, unknown>) =>
      (await enrollTotp(identity, (await inviteAndAccept(identity, partner.bearer, invite)).bearer)).bearer;
    callers = {
      system: (await enrollTotp(identity, await signInAdmin(identity))).bearer,
      'partner, all organizations': partner.bearer,
      'partner, selected organizations': await signIn({
        roleId: technician,
        orgAccess: 'selected',
        orgIds: SELECTED,
      }),
      organization: await signIn({ roleId: orgAdmin, orgId: ORGANIZATION }),
      'organization, one site': await signIn({ roleId: orgAdmin, orgId: ORGANIZATION, siteIds: [SITE] }),
    };
    await testApp.query(SEED);
    const { body } = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    const values = { orgId: ORGANIZATION, 'sso.id': PROVIDER };
    const admin = await roleId(identity, partner.bearer, 'Partner Admin');
    operations = ofTenants(listOperations(body as never, { ...values, id: admin }));
    ofOrganization = ofTenants(listOperations(body as never, { ...values, id: orgAdmin }));
    const { service: url } = testApp.database.urls.identity;
    plans = await StatementPlans.record(identity.app.get(TenantDatabase, { strict: false }), {
      url,
      schema: 'identity',
    });
  });

  afterAll(async () => {
    await plans?.stop();
    await provisioning?.stop();
    await testApp.stop();
  });

  it.each([
    'system',
    'partner, all organizations',
    'partner, selected organizations',
    'organization',
    'organization, one site',
  ])('reads each list through an index: %s', async (name) => {
    const get = (path: string) => identity.get(path, { bearer: callers[name] });
    const lists = name.startsWith('organization') ? ofOrganization : operations;
    expect(lists.length).toBeGreaterThan(5);
    expect(await listProblems(lists, plans, get, { isSystem: name === 'system' })).toEqual([]);
  });

  it('refuses filters, orders and cursors that a list does not serve', async () => {
    const get = (path: string) => identity.get(path, { bearer: callers['system'] });
    expect(await ignoredParameters(operations, get)).toEqual([]);
  });
});

/** Names the owner for the lists of single sign-on; the one of a user's identities is read by the worker login. */
const ofTenants = (lists: ListOperation[]): ListOperation[] =>
  lists
    .filter(({ path }) => path !== '/sso/identities')
    .map((list) => (/^\/sso\/\w+$/.test(list.path) ? { ...list, required: [`orgId=${ORGANIZATION}`] } : list));
