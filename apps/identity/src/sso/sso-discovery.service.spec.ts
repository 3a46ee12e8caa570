import { randomUUID } from 'node:crypto';
import { RateLimitedError } from '@rmm/service-kit';
import { buildConfig, buildProvider, FakeLimits } from '../../test/fakes.js';
import { SsoDiscoveryService } from './sso-discovery.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';

describe('SsoDiscoveryService', () => {
  let provider: SsoProvider;
  let isTenantActive: boolean;
  let onlyPartner: string | null;
  let limits: FakeLimits;

  beforeEach(() => {
    provider = buildProvider({ enforceSso: true });
    [isTenantActive, onlyPartner, limits] = [true, null, new FakeLimits()];
  });

  const start = ({ isHosted = false } = {}) =>
    new SsoDiscoveryService(
      {
        findActive: (owner: { orgId: string | null; partnerId?: string }) => {
          const isOwner =
            owner.orgId === provider.orgId && (owner.partnerId ?? provider.partnerId) === provider.partnerId;
          return Promise.resolve(isOwner && provider.status === 'active' ? provider : null);
        },
        isTenantActive: () => Promise.resolve(isTenantActive),
        findDomainOwner: (domain: string) => Promise.resolve(domain === 'acme.test' ? provider.orgId : null),
        findOnlyPartner: () => Promise.resolve(onlyPartner),
      } as unknown as SsoProvidersRepository,
      limits.asLimits,
      buildConfig({ isHosted }),
    );

  it('shows the provider of an organization', async () => {
    const orgId = provider.orgId ?? '';
    expect(await start().check(orgId, 'client')).toEqual({
      ssoEnabled: true,
      provider: { id: provider.id, name: 'Entra', type: 'oidc' },
      enforceSSO: true,
      loginUrl: `/api/v1/sso/login/${orgId}`,
    });
    expect(limits.hits).toEqual(['ssoCheck client']);
  });

  it.each<[string, () => void]>([
    ['unknown', () => (provider.orgId = randomUUID())],
    ['suspended', () => (isTenantActive = false)],
    ['without an active provider', () => (provider.status = 'testing')],
  ])('answers the same for an organization that is %s', async (_title, change) => {
    const orgId = provider.orgId ?? '';
    change();
    expect(await start().check(orgId, 'client')).toEqual({ ssoEnabled: false });
  });

  it('finds an enforced provider by the domain of an address', async () => {
    const sso = { providerName: 'Entra', loginUrl: `/api/v1/sso/login/${provider.orgId}`, enforceSSO: true };
    expect(await start().discover('anyone@acme.test', 'client')).toEqual({ sso });
    expect(limits.hits).toEqual(['ssoDiscovery client']);
  });

  it.each<[string, string, () => void]>([
    ['a domain that no organization has proven', 'anyone@sub.acme.test', () => undefined],
    ['a text that is no address', 'acme.test', () => undefined],
    ['a provider that is not enforced', 'anyone@acme.test', () => (provider.enforceSso = false)],
    ['a suspended organization', 'anyone@acme.test', () => (isTenantActive = false)],
  ])('finds nothing for %s', async (_title, email, change) => {
    change();
    expect(await start().discover(email, 'client')).toEqual({ sso: null });
  });

  it('takes at least a third of a second whether there is a provider or not', async () => {
    const service = start();
    const durationOf = async (email: string) => {
      const startedMs = performance.now();
      await service.discover(email, 'client');
      return performance.now() - startedMs;
    };
    const durations = await Promise.all(['anyone@acme.test', 'anyone@other.test', ''].map(durationOf));
    for (const ms of durations) expect(ms).toBeGreaterThan(340);
  });

  it('offers the provider of the only partner of a self-hosted fleet', async () => {
    provider.orgId = null;
    onlyPartner = provider.partnerId;
    const loginUrl = `/api/v1/sso/login/partner/${provider.partnerId}`;
    expect(await start().getLoginContext('client')).toEqual({
      branding: null,
      partnerSso: { providerName: 'Entra', loginUrl },
    });
    const nothing = { branding: null, partnerSso: null };
    expect(await start({ isHosted: true }).getLoginContext('client')).toEqual(nothing);
    isTenantActive = false;
    expect(await start().getLoginContext('client')).toEqual(nothing);
    onlyPartner = null;
    expect(await start().getLoginContext('client')).toEqual(nothing);
  });

  it.each<[string, (service: SsoDiscoveryService) => Promise<unknown>]>([
    ['ssoCheck', (service) => service.check(randomUUID(), 'client')],
    ['ssoDiscovery', (service) => service.discover('anyone@acme.test', 'client')],
    ['ssoCheck', (service) => service.getLoginContext('client')],
  ])('is limited by %s', async (name, call) => {
    limits.exhausted = name;
    await expect(call(start())).rejects.toThrow(RateLimitedError);
  });
});
