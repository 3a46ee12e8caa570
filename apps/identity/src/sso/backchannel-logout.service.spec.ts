import { randomUUID } from 'node:crypto';
import type { KeyRing } from '@rmm/secrets';
import { RateLimitedError } from '@rmm/service-kit';
import { buildProvider, FakeLimits, fakeWorker, FakeAudit } from '../../test/fakes.js';
import type { AccessChangesService } from '../access/access-changes.service.js';
import { BackchannelLogoutService } from './backchannel-logout.service.js';
import type { OidcClient } from './oidc/oidc-client.service.js';
import type { SsoIdentitiesRepository } from './sso-identities.repository.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';
import type { SsoRefusalsService } from './sso-refusals.service.js';
import { LogoutTokenInvalid } from './sso.errors.js';

describe('BackchannelLogoutService', () => {
  const userId = randomUUID();
  let provider: SsoProvider;
  let token: { subject?: string; sid?: string; jti: string };
  let ended: unknown[];
  let users: string[];
  let published: unknown[];
  let audit: FakeAudit;
  let limits: FakeLimits;
  let verified: string[];

  beforeEach(() => {
    provider = buildProvider({ clientSecretSealed: 'sealed', metadata: {} as never });
    token = { subject: 'subject', jti: 'jti' };
    [ended, published, verified] = [[], [], []];
    users = [userId];
    [audit, limits] = [new FakeAudit(), new FakeLimits()];
  });

  const end = (form = 'logout_token=token', providerId = provider.id) =>
    new BackchannelLogoutService(
      fakeWorker,
      { find: (id: string) => Promise.resolve(id === provider.id ? provider : null) } as SsoProvidersRepository,
      {
        findUserId: (_: unknown, id: string, subject: string) =>
          Promise.resolve(id === provider.id && subject === 'subject' ? userId : null),
        endSessions: (_: unknown, sessions: unknown) => {
          ended.push(sessions);
          return Promise.resolve(users);
        },
      } as unknown as SsoIdentitiesRepository,
      {
        verifyLogoutToken: (_: unknown, given: string) => {
          verified.push(given);
          return given === 'token' ? Promise.resolve(token) : Promise.reject(new LogoutTokenInvalid());
        },
      } as unknown as OidcClient,
      { open: () => 'secret' } as unknown as KeyRing,
      audit.asTrail,
      {
        publish: (_: unknown, change: unknown) => Promise.resolve(published.push(change)),
      } as unknown as AccessChangesService,
      {
        countBackchannelLogout: (client: string) => limits.hit({ name: 'ssoBackchannelLogout' }, client),
      } as SsoRefusalsService,
    ).end(providerId, form, 'client');

  it('ends the sessions of the subject, invalidates them and audits each user once', async () => {
    const other = randomUUID();
    users = [userId, other, userId];
    await end();
    expect(ended).toEqual([{ providerId: provider.id, userId, sid: null }]);
    expect(published).toEqual([{ userIds: [userId, other], reason: 'sso_logout' }]);
    const details = { by: 'identity_provider', providerId: provider.id, sessions: 3 };
    expect(audit.entries).toMatchObject(
      [userId, other].map((id) => ({ action: 'user.logout', resource: { id }, details })),
    );
  });

  it('ends the one session that the token names', async () => {
    token = { sid: 'session-1', jti: 'jti' };
    await end();
    expect(ended).toEqual([{ providerId: provider.id, userId: null, sid: 'session-1' }]);
  });

  it('publishes nothing when no session was open', async () => {
    users = [];
    await end();
    expect([published, audit.entries]).toEqual([[], []]);
  });

  it('ends no session for a subject that never signed in here', async () => {
    token = { subject: 'stranger', sid: 'session-1', jti: 'jti' };
    await end();
    expect(ended).toEqual([]);
  });

  it.each([
    ['no token', ''],
    ['an empty token', 'logout_token='],
    ['two tokens', 'logout_token=token&logout_token=token'],
    ['a token that is too long', `logout_token=${'a'.repeat(16_385)}`],
  ])('verifies nothing for a form with %s', async (_title, form) => {
    await expect(end(form)).rejects.toThrow(LogoutTokenInvalid);
    expect(verified).toEqual([]);
  });

  it.each<[string, () => string]>([
    ['an unknown provider', () => randomUUID()],
    ['an inactive provider', () => ((provider.status = 'inactive'), provider.id)],
    ['a SAML provider', () => ((provider.type = 'saml'), provider.id)],
  ])('answers the same for %s as for a token that does not verify', async (_title, idOf) => {
    const error = await end('logout_token=token', idOf()).catch((thrown: unknown) => thrown);
    expect(error).toEqual(await end('logout_token=forged').catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(LogoutTokenInvalid);
    expect(ended).toEqual([]);
  });

  it('counts before anything is read', async () => {
    limits.exhausted = 'ssoBackchannelLogout';
    await expect(end()).rejects.toThrow(RateLimitedError);
    expect([limits.hits, verified]).toEqual([['ssoBackchannelLogout client'], []]);
  });
});
