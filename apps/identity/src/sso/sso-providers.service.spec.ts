import { HostileProvider, type Mutation } from '@rmm/testing';
import { expectStatus } from '../../test/identity-test-app.js';
import { SsoTestApp, type SsoOwner } from '../../test/sso-test-app.js';
import { enrollTotp, inviteAndAccept, registerPartner, roleId, type TestUser } from '../../test/users.js';

const UNKNOWN = '7d9f2c1e-0000-4000-8000-000000000000';

let sso: SsoTestApp;
let provider: HostileProvider;

beforeAll(async () => {
  [provider, sso] = await Promise.all([HostileProvider.start(), SsoTestApp.start()]);
}, 120_000);
afterAll(async () => {
  await sso.stop();
  await provider.stop();
});

describe('SSO providers', () => {
  let owner: SsoOwner;
  let stranger: SsoOwner;

  beforeAll(async () => {
    [owner, stranger] = [await sso.owner(), await sso.owner()];
  });
  beforeEach(() => provider.reset());

  const post = (path: string, body: object, by: { bearer: string } = owner) => sso.identity.post(path, body, by);
  const body = (more: object = {}) => ({ orgId: owner.orgId, name: 'Entra', issuer: provider.issuer, ...more });
  const create = async (more: object = {}, by: { bearer: string } = owner) =>
    expectStatus(await post('/sso/providers', body(more), by), 201).body.data;
  const refusal = async (more: object, by?: { bearer: string }) => {
    const { status, body: reply } = await post('/sso/providers', body(more), by);
    return `${status} ${reply.code}`;
  };
  const member = async (permissions: { resource: string; action: string }[], more: object = {}): Promise<TestUser> => {
    const role = expectStatus(await post('/roles', { name: 'Role', permissions }), 201).body.id as string;
    const user = await inviteAndAccept(sso.identity, owner.bearer, { roleId: role, orgAccess: 'all', ...more });
    return { ...user, ...(await enrollTotp(sso.identity, user.bearer)) };
  };

  it('lists the presets', async () => {
    const { data } = expectStatus(await sso.identity.get('/sso/presets', owner), 200).body;
    expect(data.map((preset: { id: string }) => preset.id)).toEqual(['azure-ad', 'okta', 'google', 'auth0']);
  });

  it('discovers the endpoints, seals the secret and never returns it', async () => {
    const created = await create({ clientId: 'rmm', clientSecret: 'a very secret secret', preset: 'okta' });
    expect(created).toMatchObject({
      status: 'inactive',
      type: 'oidc',
      ownerScope: 'organization',
      orgId: owner.orgId,
      preset: 'okta',
      scopes: 'openid profile email groups',
      hasClientSecret: true,
      autoProvision: false,
      tokenUrl: `${provider.issuer}/token`,
      jwksUrl: `${provider.issuer}/jwks`,
      configVersion: 1,
      certificate: null,
    });
    const read = expectStatus(await sso.identity.get(`/sso/providers/${created.id}`, owner), 200);
    expect(read.body.data).toEqual(created);
    const listed = expectStatus(await sso.identity.get(`/sso/providers?orgId=${owner.orgId}`, owner), 200);
    expect(listed.body.data).toContainEqual(expect.objectContaining({ id: created.id, name: 'Entra' }));
    const stored = await sso.testApp.query('SELECT * FROM sso_provider p JOIN audit_entry a ON TRUE');
    expect(JSON.stringify([read.text, listed.text, stored])).not.toContain('a very secret secret');
    const patched = await sso.identity.patch(`/sso/providers/${created.id}`, { clientId: 'other' }, owner);
    expect(expectStatus(patched, 200).body.data).toMatchObject({
      clientId: 'other',
      hasClientSecret: true,
      configVersion: 2,
    });
  });

  it.each<[string, Mutation]>([
    [
      'names another issuer',
      { discovery: (a) => ({ ...a, body: { ...(a.body as object), issuer: 'https://other.test' } }) },
    ],
    [
      'names a final slash more',
      { discovery: (a) => ({ ...a, body: { ...(a.body as object), issuer: `${provider.issuer}/` } }) },
    ],
    ['lacks an endpoint', { discovery: (a) => ({ ...a, body: { ...(a.body as object), token_endpoint: undefined } }) }],
    [
      'offers no signature with a public key',
      {
        discovery: (a) => ({
          ...a,
          body: { ...(a.body as object), id_token_signing_alg_values_supported: ['HS256', 'none'] },
        }),
      },
    ],
    [
      'names an endpoint in the network of the service',
      { discovery: (a) => ({ ...a, body: { ...(a.body as object), jwks_uri: 'http://169.254.169.254/keys' } }) },
    ],
    [
      'redirects to a metadata service',
      { discovery: (a) => ({ ...a, status: 302, headers: { location: 'http://169.254.169.254/' } }) },
    ],
    [
      'redirects without end',
      { discovery: (a) => ({ ...a, status: 302, headers: { location: '/.well-known/openid-configuration' } }) },
    ],
    ['is larger than 1 MB', { discovery: (a) => ({ ...a, body: { padding: 'x'.repeat(1_100_000) } }) }],
    ['is not JSON', { discovery: (a) => ({ ...a, body: '<html></html>' }) }],
    ['fails', { discovery: (a) => ({ ...a, status: 503 }) }],
  ])('saves nothing when the metadata %s', async (_title, mutation) => {
    const count = () => sso.testApp.query('SELECT id FROM sso_provider');
    const before = (await count()).length;
    provider.reset(mutation);
    const response = await post('/sso/providers', body());
    expect(response).toMatchObject({ status: 400, body: { code: 'oidc_discovery_failed', success: false } });
    expect(response.text).not.toContain('127.0.0.1');
    expect((await count()).length).toBe(before);
  });

  it.each([
    'http://169.254.169.254',
    'http://localhost:1',
    'https://10.1.2.3',
    'http://[::1]:9',
    'https://metadata.internal',
  ])('refuses the issuer %s', async (issuer) => expect(await refusal({ issuer })).toBe('400 oidc_discovery_failed'));

  it('refuses incomplete and inconsistent settings', async () => {
    expect(await refusal({ issuer: '' })).toBe('400 oidc_issuer_required');
    expect(await refusal({ issuer: 'ftp://x.test' })).toBe('400 validation_failed');
    expect(await refusal({ issuer: `${provider.issuer}?x=1` })).toBe('400 validation_failed');
    expect(await refusal({ autoProvision: true })).toBe('400 default_role_required');
    expect(await refusal({ allowedDomains: 'example.com, @' })).toBe('400 validation_failed');
    expect(await refusal({ scopes: 'profile email' })).toBe('400 validation_failed');
    expect(await refusal({ authorizationUrl: 'https://x.test' })).toBe('400 validation_failed');
    expect(await refusal({ orgId: undefined })).toBe('400 organization_context_required');
    expect(await refusal({ orgId: stranger.orgId })).toBe('403 organization_access_denied');
    expect(await refusal({ ownerScope: 'partner' })).toBe('400 validation_failed');
    const incomplete = await create();
    const activated = await post(`/sso/providers/${incomplete.id}/status`, { status: 'active' });
    expect(activated).toMatchObject({ status: 400, body: { code: 'provider_incomplete' } });
  });

  it('limits the default role to custom roles of the owner within the ceiling of the caller', async () => {
    const system = await roleId(sso.identity, owner.bearer, 'Org Viewer', `&orgId=${owner.orgId}`);
    expect(await refusal({ defaultRoleId: system })).toBe('400 invalid_default_role');
    expect(await refusal({ defaultRoleId: stranger.roleId })).toBe('400 invalid_default_role');
    expect(await refusal({ defaultRoleId: UNKNOWN })).toBe('400 invalid_default_role');
    const created = await create({ defaultRoleId: owner.roleId });
    expect(created).toMatchObject({ autoProvision: true, defaultRoleConfiguredBy: owner.userId });
    const admin = await member([{ resource: 'sso', action: 'admin' }]);
    expect(await refusal({ defaultRoleId: owner.roleId }, admin)).toBe('403 permission_not_delegable');
    expect(await refusal({}, admin)).toContain('201');
  });

  it('requires sso:admin, MFA, and full partner access for providers of the partner', async () => {
    const viewer = await member([{ resource: 'organizations', action: 'read' }]);
    expect(await refusal({}, viewer)).toBe('403 permission_denied');
    const fresh = await registerPartner(sso.identity);
    expect(await refusal({ orgId: undefined, ownerScope: 'partner' }, fresh)).toBe('403 mfa_required');
    const partial = await member([{ resource: 'sso', action: 'admin' }], {
      orgAccess: 'selected',
      orgIds: [owner.orgId],
    });
    const partnerOwned = { orgId: undefined, ownerScope: 'partner' };
    expect(await refusal(partnerOwned, partial)).toBe('403 full_partner_access_required');
    const created = await create(partnerOwned);
    expect(created).toMatchObject({ ownerScope: 'partner', orgId: null });
    const listed = expectStatus(await sso.identity.get('/sso/providers?scope=partner', owner), 200);
    expect(listed.body.data).toEqual([expect.objectContaining({ id: created.id })]);
    const removed = await sso.identity.delete(`/sso/providers/${created.id}`, partial);
    expect(removed).toMatchObject({ status: 403, body: { code: 'full_partner_access_required' } });
  });

  it('hides providers of other tenants', async () => {
    const { id } = await create();
    const asStranger = [
      await sso.identity.get(`/sso/providers/${id}`, stranger),
      await sso.identity.patch(`/sso/providers/${id}`, { name: 'Mine' }, stranger),
      await sso.identity.delete(`/sso/providers/${id}`, stranger),
      await post(`/sso/providers/${id}/status`, { status: 'testing' }, stranger),
      await post(`/sso/providers/${id}/test`, {}, stranger),
      await sso.identity.get('/sso/providers/nonsense', stranger),
    ];
    expect(asStranger.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
    const listed = await sso.identity.get(`/sso/providers?orgId=${owner.orgId}`, stranger);
    expect(listed).toMatchObject({ status: 403, body: { code: 'organization_access_denied' } });
  });

  it('tests discovery without saving', async () => {
    const { id } = await create();
    const tested = expectStatus(await post(`/sso/providers/${id}/test`, {}), 200);
    expect(tested.body).toMatchObject({ success: true, discovery: { issuer: provider.issuer } });
    provider.reset({ discovery: (response) => ({ ...response, status: 500 }) });
    const failed = await post(`/sso/providers/${id}/test`, {});
    expect(failed).toMatchObject({ status: 400, body: { code: 'oidc_discovery_failed', success: false } });
    const saml = await create({ type: 'saml', issuer: null });
    expect((await post(`/sso/providers/${saml.id}/status`, { status: 'active' })).body.code).toBe('saml_not_supported');
    expect((await post(`/sso/providers/${saml.id}/test`, {})).body.code).toBe('saml_not_supported');
  });

  it('keeps at most 20 providers for each owner under concurrent creates', async () => {
    const orgId = await sso.organization(owner.partnerId);
    const responses = await Promise.all(Array.from({ length: 25 }, () => post('/sso/providers', body({ orgId }))));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20);
    expect(responses.filter(({ body: reply }) => reply.code === 'too_many_sso_providers')).toHaveLength(5);
  });
});

describe('SSO domains', () => {
  let owner: SsoOwner;
  let stranger: SsoOwner;

  beforeAll(async () => {
    [owner, stranger] = [await sso.owner(), await sso.owner()];
  });

  const claim = (by: SsoOwner, domain: string) => sso.identity.post('/sso/domains', { orgId: by.orgId, domain }, by);
  const verify = (by: SsoOwner, id: string) => sso.identity.post(`/sso/domains/${id}/verify`, {}, by);

  it('are proven by their TXT record, by one organization at a time', async () => {
    const { data: mine } = expectStatus(await claim(owner, 'Example.com'), 201).body;
    expect(mine).toMatchObject({
      domain: 'example.com',
      txtRecordName: '_sso-verification.example.com',
      verifiedAt: null,
    });
    expect(expectStatus(await claim(owner, 'example.com'), 201).body.data).toEqual(mine);
    const { data: theirs } = expectStatus(await claim(stranger, 'example.com'), 201).body;
    expect(await verify(owner, mine.id)).toMatchObject({ status: 400, body: { code: 'domain_not_verified' } });
    sso.names.records.set(mine.txtRecordName, ['v=spf1 -all', 'another', `${mine.txtRecordValue}x`]);
    expect(await verify(owner, mine.id)).toMatchObject({ status: 400, body: { code: 'domain_not_verified' } });
    sso.names.records.set(mine.txtRecordName, ['v=spf1 -all', mine.txtRecordValue, theirs.txtRecordValue]);
    expect(expectStatus(await verify(owner, mine.id), 200).body.data.verifiedAt).toEqual(expect.any(String));
    expect(await verify(stranger, theirs.id)).toMatchObject({ status: 409, body: { code: 'domain_taken' } });
    expect(await claim(stranger, 'example.com')).toMatchObject({ status: 409, body: { code: 'domain_taken' } });
    sso.names.records.clear();
    expectStatus(await verify(owner, mine.id), 200); // once proven it stays so
    expect((await verify(stranger, mine.id)).status).toBe(404);
    expectStatus(await sso.identity.delete(`/sso/domains/${mine.id}`, owner), 200);
    sso.names.records.set(mine.txtRecordName, [theirs.txtRecordValue]);
    expectStatus(await verify(stranger, theirs.id), 200);
  });

  it.each([
    '',
    'com',
    'exa mple.com',
    '-a.test',
    'a..test',
    'bücher.test',
    '*.example.com',
    'example.com.',
    '127.0.0.1/x',
  ])('refuse the name "%s"', async (domain) =>
    expect((await claim(owner, domain)).body.code).toBe('validation_failed'),
  );
});
