import { randomUUID } from 'node:crypto';
import type { UserCaller } from '@rmm/access';
import { subjects, type Envelope, type PartnerState } from '@rmm/contracts';
import { NatsLink, type AuditTrail, type Outbox } from '@rmm/messaging';
import type { TenantDatabase, WorkerDatabase, WorkerTransaction } from '@rmm/persistence';
import { eventually } from '@rmm/testing-services';
import { expectStatus, IdentityTestApp, PASSWORD, type IdentityReplica } from '../../test/identity-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, signInAdmin } from '../../test/users.js';
import type { AccessChangesService } from '../access/access-changes.service.js';
import type { InvitationLinksService } from '../invitations/invitation-links.service.js';
import type { SecurityPoliciesService } from '../security-policy/security-policies.service.js';
import type { NewPartner, PartnersRepository } from './partners.repository.js';
import { PartnersService } from './partners.service.js';

describe('an update of a partner', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let root: string;
  let onlooker: NatsLink;
  const events: Envelope<PartnerState>[] = [];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica({}, { offeredMethods: ['totp'] });
    root = await signInAdmin(identity);
    onlooker = new NatsLink({ url: testApp.nats.adminUrl, name: 'onlooker' });
    await onlooker.open();
    onlooker.connection.subscribe(subjects.internal('identity', 'partner.updated'), {
      callback: (_, message) => void events.push(message.json<Envelope<PartnerState>>()),
    });
    await onlooker.connection.flush();
  }, 120_000);
  afterAll(async () => {
    await onlooker?.close();
    await testApp.stop();
  });

  const patch = (id: string, body: object, bearer = root) => identity.patch(`/orgs/partners/${id}`, body, { bearer });
  const patchOwn = (body: object, bearer: string) => identity.patch('/orgs/partners/me', body, { bearer });
  const auditOf = (partnerId: string, action: string) =>
    testApp.query<{ details: unknown; org_id: string | null }>(
      `select details, org_id from audit_entry where partner_id = $1 and action = $2 and result = 'success' order by sequence`,
      [partnerId, action],
    );

  it('by its own administrator changes the allowed fields; settings merge per key, null removes a key', async () => {
    const { bearer, partnerId } = await registerPartner(identity);
    const body = { name: 'New Name', timezone: 'Europe/Vienna', billingEmail: 'Pay@Acme.test', currencyCode: 'EUR' };
    const first = expectStatus(await patchOwn({ ...body, settings: { theme: 'dark', locale: 'de' } }, bearer), 200);
    expect(first.body).toMatchObject({ ...body, billingEmail: 'pay@acme.test' });
    const second = expectStatus(await patchOwn({ billingEmail: null, settings: { theme: null } }, bearer), 200);
    expect(second.body).toMatchObject({ id: partnerId, name: 'New Name', billingEmail: null });
    expect(second.body.settings).toEqual({ locale: 'de' });
    expect(Date.parse(second.body.updatedAt as string)).toBeGreaterThan(Date.parse(second.body.createdAt as string));
    expect((await identity.get('/orgs/partners/me', { bearer })).body).toEqual(second.body);
    await eventually(() => {
      const ours = events.filter((event) => event.partnerId === partnerId).map(({ data }) => data);
      expect(ours).toMatchObject([
        { name: 'New Name', timezone: 'Europe/Vienna', version: 2 },
        { name: 'New Name', version: 3 },
      ]);
    });
    await eventually(async () =>
      expect(await auditOf(partnerId, 'partner.update')).toMatchObject([
        { org_id: null, details: { fields: ['billingEmail', 'currencyCode', 'name', 'settings', 'timezone'] } },
        { details: { fields: ['billingEmail', 'settings'] } },
      ]),
    );
  });

  it('is refused without the permission, to members with selected organizations, and for malformed bodies', async () => {
    const { bearer } = await registerPartner(identity);
    const viewer = await inviteAndAccept(identity, bearer, {
      roleId: await roleId(identity, bearer, 'Partner Viewer'),
    });
    expect(await patchOwn({ name: 'x' }, viewer.bearer)).toMatchObject({
      status: 403,
      body: { code: 'permission_denied', required: ['organizations:write'] },
    });
    expectStatus(await identity.get('/orgs/partners/me', { bearer: viewer.bearer }), 200);
    const admin = await roleId(identity, bearer, 'Partner Admin');
    const partial = await inviteAndAccept(identity, bearer, { roleId: admin, orgAccess: 'none' });
    expect(await patchOwn({ name: 'x' }, partial.bearer)).toMatchObject({
      status: 403,
      body: { code: 'full_partner_access_required' },
    });
    for (const [body, field] of [
      [{ status: 'suspended' }, 'status'],
      [{ maxDevices: 1 }, 'maxDevices'],
      [{ timezone: 'Mars/Olympus' }, 'timezone'],
      [{ currencyCode: 'euro' }, 'currencyCode'],
      [{}, 'body'],
    ] as const) {
      const refused = await patchOwn(body, bearer);
      expect([refused.status, Object.keys(refused.body.details.fieldErrors)]).toEqual([400, [field]]);
    }
  });

  it('by a platform administrator also changes plan, type and caps, which no other caller may', async () => {
    const { bearer, partnerId } = await registerPartner(identity);
    const body = { type: 'internal', plan: 'gold', maxOrganizations: 5, maxDevices: null };
    expect((await patch(partnerId, body)).body).toMatchObject({ id: partnerId, ...body });
    await eventually(() =>
      expect(events.filter((event) => event.partnerId === partnerId).map(({ data }) => data)).toMatchObject([
        { maxOrganizations: 5, maxDevices: null },
      ]),
    );
    expect(await patch(partnerId, body, bearer)).toMatchObject({ status: 403, body: { code: 'scope_not_allowed' } });
    for (const id of [randomUUID(), 'no-id']) {
      expect(await patch(id, { name: 'x' })).toMatchObject({ status: 404, body: { error: 'Partner not found' } });
    }
    const refused = await patch(partnerId, { status: 'gone', maxDevices: -1, slug: 'x' });
    expect(Object.keys(refused.body.details.fieldErrors).sort()).toEqual(['maxDevices', 'slug', 'status']);
  });

  it('to another status refuses its users at once, and accepts them again once it is active', async () => {
    const { bearer, email, partnerId } = await registerPartner(identity);
    const users = () => identity.get('/users', { bearer });
    expect((await users()).status).toBe(200);
    expect((await patch(partnerId, { status: 'suspended' })).body.status).toBe('suspended');
    expect(await users()).toMatchObject({ status: 403, body: { code: 'partner_inactive', status: 'suspended' } });
    expect((await identity.get('/orgs/partners/me', { bearer })).body.status).toBe('suspended');
    const login = await identity.post('/auth/login', { email, password: PASSWORD });
    expect(login).toMatchObject({ status: 401, body: { code: 'login_failed' } });
    expectStatus(await patch(partnerId, { status: 'active' }), 200);
    expect((await users()).status).toBe(200);
    await eventually(async () =>
      expect(await auditOf(partnerId, 'partner.update')).toMatchObject([
        { details: { fields: ['status'], status: { from: 'active', to: 'suspended' } } },
        { details: { status: { from: 'suspended', to: 'active' } } },
      ]),
    );
  });

  it('by a platform administrator follows the same policy rules: a factor, and a method that is left', async () => {
    const { bearer, partnerId } = await registerPartner(identity);
    await enrollTotp(identity, bearer);
    const security = { allowedMfaMethods: { totp: false } };
    expect(await patch(partnerId, { settings: { security } })).toMatchObject({
      status: 403,
      body: { code: 'mfa_required' },
    });
    const { bearer: proven } = await enrollTotp(identity, root);
    root = proven;
    expect(await patch(partnerId, { plan: 'gold', settings: { security } })).toMatchObject({
      status: 400,
      body: { code: 'mfa_no_method_available' },
    });
    expect((await identity.get(`/orgs/partners/${partnerId}`, { bearer: root })).body).toMatchObject({
      plan: 'standard',
      settings: {},
    });
    // The platform's own users are not bound by the list, so it cannot lock them out.
    const list = { security: { requireMfa: true, ipAllowlist: ['198.51.100.7'] } };
    const saved = expectStatus(await patch(partnerId, { settings: list }), 200);
    expect(saved.body.settings).toEqual(list);
    await eventually(async () =>
      expect(await auditOf(partnerId, 'security_policy.update')).toMatchObject([
        { details: { before: {}, after: list.security } },
      ]),
    );
  });

  it('keeps both of two concurrent changes', async () => {
    const { bearer } = await registerPartner(identity);
    const keys = Array.from({ length: 6 }, (_, index) => `key${index}`);
    await Promise.all(keys.map((key) => patchOwn({ settings: { [key]: true } }, bearer)));
    const { settings } = (await identity.get('/orgs/partners/me', { bearer })).body;
    expect(Object.keys(settings as object).sort()).toEqual(keys);
  });
});

describe('PartnersService', () => {
  const actor = { type: 'user', id: 'u1', email: 'admin@users.test' } as UserCaller['actor'];
  const tx = {} as WorkerTransaction;
  const repository = {
    lockSlugs: async () => undefined,
    listTakenSlugs: async () => taken,
    insertUnlessTaken: async (_: unknown, { name, slug }: NewPartner) => ({ id: 'p1', name, slug, status: 'active' }),
    copyAdminRole: async () => 'r1',
  } as unknown as PartnersRepository;
  let taken: string[];
  let published: Record<string, unknown>[];
  const outbox = {
    publish: async (_: unknown, message: Record<string, unknown>) => void published.push(message),
  } as unknown as Outbox;

  const partners = () =>
    new PartnersService(
      {} as TenantDatabase,
      {} as WorkerDatabase,
      repository,
      {} as InvitationLinksService,
      {} as SecurityPoliciesService,
      {} as AuditTrail,
      outbox,
      {} as AccessChangesService,
    );

  beforeEach(() => {
    taken = [];
    published = [];
  });

  it('provisions a partner with its admin role and publishes partner.created', async () => {
    const partner = await partners().provision(tx, { name: 'Acme MSP', createsFirstOrganization: true, actor });
    expect(partner).toEqual({ id: 'p1', name: 'Acme MSP', slug: 'acme-msp', status: 'active', adminRoleId: 'r1' });
    expect(published).toEqual([
      expect.objectContaining({
        type: 'partner.created',
        aggregateId: 'p1',
        data: expect.objectContaining({ slug: 'acme-msp', createFirstOrganization: true, timezone: 'UTC' }),
      }),
    ]);
  });

  it('numbers a slug that is taken', async () => {
    taken = ['acme', 'acme-2'];
    const partner = await partners().provision(tx, { name: 'Acme', createsFirstOrganization: false, actor });
    expect(partner.slug).toBe('acme-3');
  });
});
