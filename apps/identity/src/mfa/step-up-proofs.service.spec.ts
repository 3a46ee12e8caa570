import { RateLimitedError, ValidationError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/callers.js';
import { buildConfig, buildUser, FakeLimits, fakeTenants, FakeAudit } from '../../test/fakes.js';
import type { PasskeyAssertionsService } from '../passkeys/passkey-assertions.service.js';
import type { User } from '../users/user.types.js';
import type { StepUpDto, StepUpMethod } from './dto/step-up.dto.js';
import type { MfaCodesService } from './mfa-codes.service.js';
import { MfaMethodMismatch } from './mfa.errors.js';
import { StepUpProofsService } from './step-up-proofs.service.js';

const CODE = '123456';
const CREDENTIAL = { id: 'credential' };

describe('StepUpProofsService', () => {
  let user: User;
  let counterRises: boolean;
  let bindings: unknown[];
  let audit: FakeAudit;
  let limits: FakeLimits;

  beforeEach(() => {
    user = buildUser({ mfaEnabled: true, mfaMethod: 'sms' });
    [counterRises, bindings, audit, limits] = [true, [], new FakeAudit(), new FakeLimits()];
  });

  const start = () => {
    const isCode = (binding: unknown, code: string) => {
      bindings.push(binding);
      return Promise.resolve(code === CODE);
    };
    return new StepUpProofsService(
      fakeTenants,
      {
        sendSms: (binding: unknown) => Promise.resolve(bindings.push(binding)),
        verifyTotp: (_: unknown, userId: string, code: string) => isCode(userId, code),
        verifySms: (binding: unknown, _: unknown, code: string) => isCode(binding, code),
        useRecoveryCode: (_: unknown, userId: string, code: string) => isCode(userId, code),
      } as unknown as MfaCodesService,
      {
        start: (_: unknown, binding: unknown) => Promise.resolve({ challenge: JSON.stringify(binding) }),
        verify: (_: unknown, binding: unknown, __: unknown, credential: unknown) => {
          bindings.push(binding);
          return Promise.resolve(credential === CREDENTIAL ? { passkeyId: 'id' } : null);
        },
        recordUse: () => Promise.resolve(counterRises),
      } as unknown as PasskeyAssertionsService,
      limits.asLimits,
      audit.asTrail,
      buildConfig(),
    );
  };
  const caller = () => partnerCaller('partner', user.id);
  const verify = (method: StepUpMethod, changes: Partial<StepUpDto> = {}) =>
    start().verify(caller(), user, { method, operation: 'add_factor', code: CODE, credential: CREDENTIAL, ...changes });
  const binding = { purpose: 'step-up', sessionId: expect.any(String) };

  it.each<[StepUpMethod, string[]]>([
    ['totp', ['auth.mfa.stepup.granted']],
    ['sms', ['auth.mfa.stepup.granted']],
    ['passkey', ['auth.mfa.stepup.granted']],
    ['recovery', ['auth.mfa.recovery_code.used', 'auth.mfa.stepup.granted']],
  ])('accepts a proof by %s and audits it', async (method, actions) => {
    expect(await verify(method)).toBe(true);
    expect(audit.actions).toEqual(actions);
    expect(audit.entries.at(-1)).toMatchObject({
      resource: { type: 'user', id: user.id },
      details: { method, operation: 'add_factor' },
    });
  });

  it.each<[StepUpMethod, Partial<StepUpDto>]>([
    ['totp', { code: '000000' }],
    ['sms', { code: '000000' }],
    ['recovery', { code: '000000' }],
    ['passkey', { credential: {} }],
    ['totp', { code: undefined }],
  ])('refuses a wrong proof by %s: %j', async (method, changes) => {
    expect(await verify(method, changes)).toBe(false);
    expect(audit.entries).toEqual([]);
  });

  it('grants nothing for a passkey whose counter did not rise', async () => {
    counterRises = false;
    expect(await verify('passkey')).toBe(false);
    expect(audit.entries).toEqual([]);
  });

  it('verifies codes by SMS only while that is the active factor', async () => {
    user.mfaMethod = 'totp';
    await expect(verify('sms')).rejects.toThrow(MfaMethodMismatch);
    expect(bindings).toEqual([]);
  });

  it('binds codes and challenges to the session', async () => {
    const { sessionId, ...by } = caller();
    const session = { ...by, sessionId };
    await start().sendSms(session, user);
    const { challenge } = await start().startPasskey(session, user);
    expect(bindings).toEqual([{ ...binding, userId: user.id, sessionId }]);
    expect(JSON.parse(challenge)).toEqual({ purpose: 'step-up', userId: user.id, sessionId });
    expect(audit.actions).toEqual(['auth.mfa.sms.sent']);
  });

  it('limits the challenges of a user', async () => {
    limits.exhausted = 'passkeyOptions';
    await expect(start().startPasskey(caller(), user)).rejects.toThrow(RateLimitedError);
    expect(limits.hits).toEqual([`passkeyOptions ${user.id}`]);
  });

  it.each<[StepUpMethod, Partial<StepUpDto>, boolean]>([
    ['passkey', { credential: {} }, true],
    ['passkey', { code: CODE }, false],
    ['totp', { code: CODE }, true],
    ['totp', { credential: {} }, false],
    ['sms', {}, false],
    ['recovery', {}, false],
  ])('of %s with %j says whether it is complete: %s', (method, given, isComplete) => {
    const check = () => start().assertComplete({ method, operation: 'add_factor', ...given });
    if (isComplete) check();
    else expect(check).toThrow(ValidationError);
  });
});
