import { randomUUID } from 'node:crypto';
import type { KeyRing } from '@rmm/secrets';
import { ValidationError } from '@rmm/service-kit';
import { organizationCaller } from '../../test/callers.js';
import { buildProvider, fakeWorker } from '../../test/fakes.js';
import type { IdentityConfig } from '../config.js';
import type { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import type { OidcClient, OidcProvider } from './oidc/oidc-client.service.js';
import type { SsoIdentitiesRepository } from './sso-identities.repository.js';
import { SsoLogoutService } from './sso-logout.service.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';

describe('SsoLogoutService', () => {
  const caller = organizationCaller(randomUUID(), randomUUID());
  let provider: SsoProvider;
  let source: string | null;
  let endSessionUrl: URL | null;
  let ended: unknown[];
  let asked: [OidcProvider, string][];

  beforeEach(() => {
    provider = buildProvider({ clientSecretSealed: 'sealed', metadata: {} as never });
    [source, ended, asked] = [provider.id, [], []];
    endSessionUrl = new URL('https://idp.test/logout');
  });

  const logout = (returnTo?: string) =>
    new SsoLogoutService(
      fakeWorker,
      { find: (id: string) => Promise.resolve(id === provider.id ? provider : null) } as SsoProvidersRepository,
      {
        findSource: (_: unknown, sessionId: string) => Promise.resolve(sessionId === caller.sessionId ? source : null),
      } as unknown as SsoIdentitiesRepository,
      { logout: (user: unknown) => Promise.resolve(ended.push(user)) } as unknown as SessionRevocationsService,
      {
        endSessionUrl: (...given: [OidcProvider, string]) => {
          asked.push(given);
          return endSessionUrl;
        },
      } as OidcClient,
      { open: () => 'secret' } as unknown as KeyRing,
      { publicAppUrl: 'https://app.test' } as IdentityConfig,
    ).logout(caller, returnTo);

  it('ends the sessions of the caller and returns where the one at the provider ends', async () => {
    expect(await logout('/bye')).toBe('https://idp.test/logout');
    expect(asked).toEqual([[expect.objectContaining({ id: provider.id }), 'https://app.test/bye']]);
    expect(ended).toEqual([expect.objectContaining({ userId: caller.userId, email: caller.email })]);
  });

  it.each<[string, () => void]>([
    ['the session began without a provider', () => (source = null)],
    ['the provider was deleted', () => (source = randomUUID())],
    ['the provider is not active', () => (provider.status = 'inactive')],
    ['the provider has no such page', () => (endSessionUrl = null)],
  ])('ends the sessions here alone when %s', async (_title, change) => {
    change();
    expect(await logout()).toBeNull();
    expect(ended).toHaveLength(1);
  });

  it('ends nothing when it would return to another host', async () => {
    await expect(logout('//evil.test')).rejects.toThrow(ValidationError);
    expect(ended).toEqual([]);
  });
});
