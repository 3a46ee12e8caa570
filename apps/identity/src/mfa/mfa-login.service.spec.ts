import { randomBytes } from 'node:crypto';
import { MetricsRegistry } from '@rmm/service-kit';
import { buildConfig, buildMembership, buildUser, fakeWorker } from '../../test/fakes.js';
import type { PasskeysRepository } from '../passkeys/passkeys.repository.js';
import { LoginMetrics } from '../sessions/login.metrics.js';
import { MfaLoginService } from './mfa-login.service.js';
import type { MfaStateRepository } from './mfa-state.repository.js';

describe('MfaLoginService', () => {
  let pending: Record<string, unknown>[];
  let hasPasskey: boolean;

  beforeEach(() => {
    [pending, hasPasskey] = [[], false];
  });
  const start = (enabled = true) =>
    new MfaLoginService(
      fakeWorker,
      {
        createPendingLogin: (login: Record<string, unknown>) => {
          pending.push(login);
          return Promise.resolve('temp-token');
        },
      } as unknown as MfaStateRepository,
      { hasAny: () => Promise.resolve(hasPasskey) } as unknown as PasskeysRepository,
      new LoginMetrics(new MetricsRegistry('identity')),
      buildConfig({ mfa: { enabled } as never }),
    );

  it.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ])('with MFA %s asks an account with a factor (%s): %s', (enabled, mfaEnabled, expected) => {
    expect(start(enabled).isRequired(buildUser({ mfaEnabled }))).toBe(expected);
  });

  it('returns a temporary token, and no session, tokens or account', async () => {
    const user = buildUser({ mfaEnabled: true, mfaMethod: 'totp', phoneNumber: '+41791234567' });
    expect(await start().challenge(user, buildMembership())).toEqual({
      session: null,
      body: {
        ...{ mfaRequired: true, tempToken: 'temp-token', mfaMethod: 'totp', passkeyAvailable: false },
        ...{ phoneLast4: null, user: null, tokens: null },
      },
    });
  });

  it('shows the last digits of a verified number, and that there is a passkey', async () => {
    hasPasskey = true;
    const phone = { phoneNumber: '+41791234567', phoneVerified: true };
    const { body } = await start().challenge(buildUser({ mfaMethod: 'sms', ...phone }), buildMembership());
    expect(body).toMatchObject({ mfaMethod: 'sms', phoneLast4: '4567', passkeyAvailable: true });
    const { body: withoutMethod } = await start().challenge(buildUser(), buildMembership());
    expect(withoutMethod).toMatchObject({ mfaMethod: 'totp' });
  });

  it('binds the second step to the account as it is, the membership and what the login is for', async () => {
    const user = buildUser({ mfaMethod: 'totp', authEpoch: 3, mfaEpoch: 4 });
    const membership = buildMembership();
    const [invitation, sso] = [randomBytes(32), { providerId: 'provider', configVersion: 1, sid: 'session' }];
    await start().challenge(user, membership, { invitation, sso });
    const { scope, partnerId, orgId } = membership;
    const account = { userId: user.id, method: 'totp', authEpoch: 3, mfaEpoch: 4 };
    expect(pending).toEqual([{ ...account, scope, partnerId, orgId, invitation: invitation.toString('hex'), sso }]);
    await start().challenge(user, membership);
    expect(pending[1]).toMatchObject({ invitation: null, sso: undefined });
  });
});
