import { randomUUID } from 'node:crypto';
import { hashKey } from '@rmm/secrets';
import { RateLimitedError } from '@rmm/service-kit';
import { buildMembership, buildProvider, buildUser, FakeLimits, fakeWorker } from '../../test/fakes.js';
import type { MfaGraceService } from '../mfa/mfa-grace.service.js';
import type { MfaLoginService } from '../mfa/mfa-login.service.js';
import type { LoginSessionsService } from '../sessions/login-sessions.service.js';
import type { User } from '../users/user.types.js';
import type { UsersRepository } from '../users/users.repository.js';
import { SsoExchangeService } from './sso-exchange.service.js';
import type { SsoFlowsRepository, TakenCode } from './sso-flows.repository.js';
import type { SsoProvider } from './sso-provider.entity.js';
import type { SsoProvidersRepository } from './sso-providers.repository.js';
import type { SsoRefusalsService } from './sso-refusals.service.js';
import { SsoCodeInvalid } from './sso.errors.js';

const CODE = 'a'.repeat(48);
const SID = 'session-1';

describe('SsoExchangeService', () => {
  let provider: SsoProvider;
  let user: User;
  let taken: TakenCode | null;
  let asked: unknown[];
  let started: unknown[];
  let challenged: unknown[];
  let addressError: Error | undefined;
  let enrollmentRequired: boolean;
  let limits: FakeLimits;

  beforeEach(() => {
    provider = buildProvider();
    user = buildUser({ memberships: [buildMembership({ partnerId: provider.partnerId, orgId: provider.orgId })] });
    const account = { userId: user.id, authEpoch: 1, idpMfa: false, ssoSid: SID };
    taken = { providerId: provider.id, configVersion: 3, ...account };
    [asked, started, challenged, addressError, enrollmentRequired] = [[], [], [], undefined, false];
    limits = new FakeLimits();
  });

  const exchange = (code = CODE, browserKey: string | null = 'browser') =>
    new SsoExchangeService(
      fakeWorker,
      { findById: (_: unknown, id: string) => (id === user.id ? user : null) } as unknown as UsersRepository,
      { find: (id: string) => Promise.resolve(id === provider.id ? provider : null) } as SsoProvidersRepository,
      {
        takeCode: (...given: unknown[]) => {
          asked.push(given);
          return Promise.resolve(taken);
        },
      } as unknown as SsoFlowsRepository,
      {
        isRequired: ({ mfaEnabled }: User) => mfaEnabled,
        challenge: (...given: unknown[]) => {
          challenged.push(given.at(-1));
          return Promise.resolve('challenge');
        },
      } as unknown as MfaLoginService,
      { evaluate: () => ({ enrollmentRequired }) } as unknown as MfaGraceService,
      {
        assertAddressAllowed: () => (addressError ? Promise.reject(addressError) : Promise.resolve()),
        start: (...given: unknown[]) => {
          started.push(given.at(-1));
          return Promise.resolve({});
        },
        finish: () => 'session',
      } as unknown as LoginSessionsService,
      {
        countExchange: (client: string) => limits.hit({ name: 'ssoExchange' }, client),
        refuseCode: () => Promise.reject(new SsoCodeInvalid()),
      } as unknown as SsoRefusalsService,
    ).exchange(code, browserKey, 'client');

  it('starts a session that remembers its provider and its session there', async () => {
    expect(await exchange()).toBe('session');
    expect(asked).toEqual([[hashKey(CODE), hashKey('browser')]]);
    expect(started).toEqual([
      { method: 'sso', mfa: false, sso: { providerId: provider.id, configVersion: 3, sid: SID } },
    ]);
  });

  it('looks for a code without a browser for a client that is none', async () => {
    await exchange(CODE, null);
    expect(asked).toEqual([[hashKey(CODE), null]]);
  });

  it.each(['', 'a'.repeat(47), 'a'.repeat(49), `${'a'.repeat(47)}!`])('never looks up the code %p', async (code) => {
    await expect(exchange(code)).rejects.toThrow(SsoCodeInvalid);
    expect(asked).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['the code is unknown', () => (taken = null)],
    ['the provider is not active', () => (provider.status = 'testing')],
    ['the settings of the provider changed', () => (provider.configVersion = 4)],
    ['the user is disabled', () => (user.status = 'disabled')],
    ['the password was changed', () => (user.authEpoch = 2)],
    ['the user is no member any more', () => (user.memberships = [])],
    ['the organization is suspended', () => user.memberships.forEach((each) => (each.orgStatus = 'suspended'))],
    ['the user is a member of another organization', () => (provider.orgId = randomUUID())],
  ])('refuses a code when %s', async (_title, change) => {
    change();
    await expect(exchange()).rejects.toThrow(SsoCodeInvalid);
    expect([started, challenged]).toEqual([[], []]);
  });

  it('counts before the code is used up', async () => {
    limits.exhausted = 'ssoExchange';
    await expect(exchange()).rejects.toThrow(RateLimitedError);
    expect([limits.hits, asked]).toEqual([['ssoExchange client'], []]);
  });

  it('starts no session from an address that the policy refuses', async () => {
    addressError = new Error('address');
    await expect(exchange()).rejects.toThrow(addressError);
    expect([started, challenged]).toEqual([[], []]);
  });

  it('asks for the factor of the user unless the provider vouched for one', async () => {
    user.mfaEnabled = true;
    expect(await exchange()).toBe('challenge');
    expect([started, challenged]).toEqual([[], [{ sso: { providerId: provider.id, configVersion: 3, sid: SID } }]]);
    taken = taken && { ...taken, idpMfa: true };
    expect(await exchange()).toBe('session');
    expect(started).toEqual([expect.objectContaining({ mfa: true })]);
  });

  it('does not let the provider replace the factor that a policy wants the user to enroll', async () => {
    taken = taken && { ...taken, idpMfa: true };
    enrollmentRequired = true;
    await exchange();
    enrollmentRequired = false;
    await exchange();
    expect(started).toEqual([expect.objectContaining({ mfa: false }), expect.objectContaining({ mfa: true })]);
  });
});
