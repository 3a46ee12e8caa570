import { randomUUID } from 'node:crypto';
import { SiteAccessDenied } from '@rmm/access';
import { NotFoundError, RateLimitedError } from '@rmm/service-kit';
import { organizationCaller } from '../../test/callers.js';
import { buildConfig, buildProvider, FakeLimits, FakeAudit } from '../../test/fakes.js';
import type { OidcClient } from './oidc/oidc-client.service.js';
import { SsoProviderTestsService } from './sso-provider-tests.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';
import { OidcDiscoveryFailed, SamlNotSupported } from './sso.errors.js';

const ENDPOINTS = {
  authorizationEndpoint: 'https://idp.test/authorize',
  tokenEndpoint: 'https://idp.test/token',
  userInfoEndpoint: null,
};

describe('SsoProviderTestsService', () => {
  let provider: SsoProvider;
  let caller = organizationCaller(randomUUID(), randomUUID());
  let discover: (issuer: string) => Promise<unknown>;
  let audit: FakeAudit;
  let limits: FakeLimits;

  beforeEach(() => {
    provider = buildProvider();
    caller = organizationCaller(provider.partnerId, provider.orgId ?? '');
    discover = () => Promise.resolve({ ...ENDPOINTS, jwksUri: 'https://idp.test/jwks' });
    [audit, limits] = [new FakeAudit(), new FakeLimits()];
  });

  const test = (id = provider.id) =>
    new SsoProviderTestsService(
      {
        get: (_: unknown, asked: string) =>
          asked === provider.id ? Promise.resolve(provider) : Promise.reject(new NotFoundError('SSO provider')),
      } as unknown as SsoProvidersRepository,
      { discover: (issuer: string) => discover(issuer) } as OidcClient,
      limits.asLimits,
      audit.asTrail,
      buildConfig(),
    ).test(caller, id);

  it('returns the endpoints of the issuer and audits the test', async () => {
    expect(await test()).toEqual({
      success: true,
      message: 'The provider was discovered',
      discovery: { issuer: 'https://idp.test', ...ENDPOINTS },
    });
    expect(limits.hits).toEqual([`ssoProviderTest ${caller.userId}`]);
    expect(audit.entries).toMatchObject([
      { action: 'sso.provider.test', resource: { id: provider.id }, result: 'success' },
    ]);
  });

  it('audits why discovery failed, without the error of a library', async () => {
    discover = () => Promise.reject(new OidcDiscoveryFailed('The issuer has no metadata'));
    await expect(test()).rejects.toThrow(OidcDiscoveryFailed);
    discover = () => Promise.reject(new Error('connect 10.0.0.1'));
    await expect(test()).rejects.toThrow('connect 10.0.0.1');
    expect(audit.entries.map(({ result }) => result)).toEqual(['failure', 'failure']);
    expect(audit.entries[0]?.details).toEqual({ reason: 'The issuer has no metadata' });
    expect(JSON.stringify(audit.entries[1])).not.toContain('10.0.0.1');
  });

  it.each<[string, () => void, new (...args: never[]) => Error]>([
    ['a SAML provider', () => (provider.type = 'saml'), SamlNotSupported],
    ['a provider without an issuer', () => (provider.issuer = null), OidcDiscoveryFailed],
    ['a caller who is restricted to sites', () => (caller = { ...caller, siteIds: [] }), SiteAccessDenied],
    ['a caller who reached the limit', () => (limits.exhausted = 'ssoProviderTest'), RateLimitedError],
  ])('calls no issuer for %s', async (_title, change, error) => {
    change();
    discover = () => Promise.reject(new Error('the issuer was called'));
    await expect(test()).rejects.toThrow(error);
  });

  it('knows no provider of another tenant', async () => {
    await expect(test(randomUUID())).rejects.toThrow(NotFoundError);
  });
});
