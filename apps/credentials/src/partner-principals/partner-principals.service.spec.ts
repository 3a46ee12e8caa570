import { randomUUID } from 'node:crypto';
import { DEFAULT_PARTNER_SCOPES } from '@rmm/permissions';
import { CredentialsTestApp } from '../../test/credentials-test-app.js';
import { issueKey, buildPrincipal, type Client } from '../../test/partner-principals.js';

const PATH = '/partner-service-principals';

describe('PartnerPrincipalsService', () => {
  let service: CredentialsTestApp;
  let partnerId: string;
  let owner: Client;
  let stranger: Client;
  let platform: Client;

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    ({ partnerId, owner } = await service.createTenant());
    stranger = await service.as({ partnerId: await service.createPartner() });
    platform = await service.as({ scope: 'system' });
  }, 120_000);
  afterAll(() => service.stop());

  const codesOf = (responses: { status: number; body: { code?: string } }[]) =>
    responses.map(({ status, body }) => `${status} ${body.code ?? ''}`.trim()).sort();

  it('creates an active principal with the eight read scopes by default', async () => {
    const name = `Exporter ${randomUUID()}`;
    const created = await owner.post(PATH, { name: `  ${name} ` });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      data: {
        id: expect.any(String),
        partnerId,
        name,
        description: null,
        status: 'active',
        scopes: DEFAULT_PARTNER_SCOPES,
        expiresAt: null,
        sourceCidrs: [],
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
        keys: [],
      },
    });
    expect(DEFAULT_PARTNER_SCOPES.filter((scope) => scope.endsWith(':write'))).toEqual([]);
    expect((await owner.get(`${PATH}/${created.body.data.id}`)).body).toEqual(created.body);
    expect(await service.findAuditEntry('partner_service_principal.create', created.body.data.id)).toMatchObject({
      resourceName: name,
      details: { scopes: DEFAULT_PARTNER_SCOPES },
    });
  });

  it('accepts write scopes, an expiry and addresses', async () => {
    const wanted = {
      description: 'Creates sites\nfor new customers',
      scopes: ['sites:write', 'sites:read', 'sites:write'],
      expiresAt: '2999-01-01T01:00:00+01:00',
      sourceCidrs: ['192.0.2.0/24', '2001:db8::/32', '198.51.100.7'],
    };
    const principal = await buildPrincipal(owner, wanted);
    expect(principal).toMatchObject({
      ...wanted,
      scopes: ['sites:write', 'sites:read'],
      expiresAt: '2999-01-01T00:00:00.000Z',
    });
  });

  it.each([
    ['no name', { name: undefined }, 'name'],
    ['a name with a control character', { name: 'a\u0007b' }, 'name'],
    ['an empty name', { name: '  ' }, 'name'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['a scope of API keys', { scopes: ['devices:write'] }, 'scopes'],
    ['a wildcard', { scopes: ['*'] }, 'scopes'],
    ['a scope in capitals', { scopes: ['Sites:read'] }, 'scopes'],
    ['a scope with a space', { scopes: [' sites:read'] }, 'scopes'],
    ['the name of an inherited property', { scopes: ['constructor'] }, 'scopes'],
    ['a bad range', { sourceCidrs: ['10.0.0.0/8', '10.0.0.0/33'] }, 'sourceCidrs.1'],
    ['too many ranges', { sourceCidrs: Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`) }, 'sourceCidrs'],
    ['an end without offset', { expiresAt: '2999-01-01T00:00:00' }, 'expiresAt'],
    ['a status', { status: 'disabled' }, 'status'],
    ['another partner in the body', { partnerId: randomUUID() }, 'partnerId'],
  ])('refuses %s', async (_, body, field) => {
    const { status, body: response } = await owner.post(PATH, { name: randomUUID(), ...body });
    expect([status, response.code]).toEqual([400, 'validation_failed']);
    expect(Object.keys(response.details.fieldErrors)).toEqual([field]);
  });

  it('refuses an expiry in the past', async () => {
    const { status, body } = await owner.post(PATH, { name: randomUUID(), expiresAt: '2020-01-01T00:00:00Z' });
    expect([status, body.code]).toEqual([400, 'invalid_expiry']);
  });

  it('requires a unique name within a partner, ignoring case, also in a race', async () => {
    const name = `Twin ${randomUUID()}`;
    const responses = await Promise.all([owner.post(PATH, { name }), owner.post(PATH, { name: name.toUpperCase() })]);
    expect(codesOf(responses)).toEqual(['201', '409 conflict']);
    expect((await stranger.post(PATH, { name })).status).toBe(201);
  });

  it('refuses scopes whose permissions the caller lacks', async () => {
    const creator = await service.as({ partnerId, permissions: ['organizations:write', 'sites:read'] });
    const granted = { name: randomUUID(), scopes: ['sites:read', 'enrollment-keys:write'] };
    expect((await creator.post(PATH, granted)).status).toBe(201);
    const { status, body } = await creator.post(PATH, {
      name: randomUUID(),
      scopes: ['sites:read', 'inventory:read', 'backup-configuration:read', 'configuration:read'],
    });
    expect([status, body.code]).toEqual([403, 'permission_not_delegable']);
    expect(body.required).toEqual(['devices:read', 'backup:read', 'automations:read']);
    expect((await creator.post(PATH, { name: randomUUID() })).body.code).toBe('permission_not_delegable');
  });

  it('allows reads with organizations:read, also to members of some or no organizations', async () => {
    const principal = await buildPrincipal(owner);
    const key = await issueKey(owner, principal.id);
    for (const orgAccess of ['selected', 'none'] as const) {
      const reader = await service.as({ partnerId, orgAccess, permissions: ['organizations:read'], mfa: false });
      const one = await reader.get(`${PATH}/${principal.id}`);
      expect([one.status, one.body.data.keys.length]).toEqual([200, 1]);
      expect(JSON.stringify(one.body)).not.toContain(key.key);
      const list = await reader.get(`${PATH}?limit=100`);
      expect(list.body.data).toContainEqual(one.body.data);
      const writer = await service.as({ partnerId, orgAccess });
      const refused = await writer.post(PATH, { name: randomUUID() });
      expect([refused.status, refused.body.code]).toEqual([403, 'full_partner_access_required']);
    }
  });

  it('lists newest first, in pages', async () => {
    const own = await service.as({ partnerId: await service.createPartner() });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await buildPrincipal(own)).id);
    const page = async (query: string) => (await own.get(`${PATH}?${query}`)).body;
    const [first, second, third] = [await page('limit=2'), await page('limit=2&page=2'), await page('limit=2&page=3')];
    expect([first, second, third].map(({ data }) => data.map(({ id }: { id: string }) => id))).toEqual([
      ids.slice(0, 2),
      ids.slice(2),
      [],
    ]);
    expect(first.pagination).toEqual({ page: 1, limit: 2, total: 3 });
    expect((await own.get(`${PATH}?limit=101`)).body.code).toBe('validation_failed');
  });

  it('hides principals of another partner', async () => {
    const principal = await buildPrincipal(owner);
    const [foreign, unknown] = [
      await stranger.get(`${PATH}/${principal.id}`),
      await stranger.get(`${PATH}/${randomUUID()}`),
    ];
    expect(codesOf([foreign, unknown])).toEqual(['404 not_found', '404 not_found']);
    expect(foreign.body.error).toBe(unknown.body.error);
    const named = [await stranger.get(`${PATH}?partnerId=${partnerId}`), await stranger.get(`${PATH}?partnerId=x`)];
    expect(codesOf(named)).toEqual(['400 validation_failed', '403 partner_access_denied']);
    const created = await stranger.post(`${PATH}?partnerId=${partnerId}`, { name: randomUUID() });
    expect([created.status, created.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it('lists principals of one or all partners to platform administrators', async () => {
    const principal = await buildPrincipal(owner);
    const other = await buildPrincipal(stranger);
    const ids = async (query: string) =>
      (await platform.get(`${PATH}?limit=100${query}`)).body.data.map(({ id }: { id: string }) => id) as string[];
    expect(await ids('')).toEqual(expect.arrayContaining([principal.id, other.id]));
    const named = await ids(`&partnerId=${partnerId}`);
    expect(named).toContain(principal.id);
    expect(named).not.toContain(other.id);

    const created = await platform.post(`${PATH}?partnerId=${partnerId}`, { name: randomUUID() });
    expect([created.status, created.body.data.partnerId]).toEqual([201, partnerId]);
    expect((await owner.get(`${PATH}/${created.body.data.id}`)).status).toBe(200);
    const nobodys = await platform.post(PATH, { name: randomUUID() });
    expect([nobodys.status, nobodys.body.details]).toEqual([400, { fieldErrors: { partnerId: ['is required'] } }]);
    const unknown = await platform.get(`${PATH}?partnerId=${randomUUID()}`);
    expect([unknown.status, unknown.body.code]).toEqual([403, 'partner_access_denied']);
  });

  it('requires a token, the scope, the permission and a second factor', async () => {
    const orgId = await service.createOrganization(partnerId);
    const body = { name: randomUUID() };
    const [reader, oneFactor, member] = [
      await service.as({ partnerId, permissions: ['organizations:read'] }),
      await service.as({ partnerId, mfa: false }),
      await service.as({ scope: 'organization', partnerId, orgId }),
    ];
    const writer = await service.as({ partnerId, permissions: ['organizations:write'] });
    expect(codesOf([await reader.post(PATH, body), await writer.get(PATH)])).toEqual([
      '403 permission_denied',
      '403 permission_denied',
    ]);
    expect(codesOf([await oneFactor.post(PATH, body)])).toEqual(['403 mfa_required']);
    expect(codesOf([await member.get(PATH), await member.post(PATH, body)])).toEqual([
      '403 scope_not_allowed',
      '403 scope_not_allowed',
    ]);
    expect(codesOf([await service.client().get(PATH)])).toEqual(['401 unauthenticated']);
  });
});
