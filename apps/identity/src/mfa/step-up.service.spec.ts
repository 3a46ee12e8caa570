import type { UserCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import type { RateLimits } from '@rmm/rate-limits';
import { eventually } from '@rmm/testing-services';
import {
  expectStatus,
  IdentityTestApp,
  PASSWORD,
  totpCode,
  type CallOptions,
  type IdentityReplica,
} from '../../test/identity-test-app.js';
import { registerPartner, registerProtectedPartner, sessionOf } from '../../test/users.js';
import type { IdentityConfig } from '../config.js';
import type { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import type { SessionsService } from '../sessions/sessions.service.js';
import type { User } from '../users/user.types.js';
import type { StepUpOperation } from './dto/step-up.dto.js';
import type { MfaStateRepository } from './mfa-state.repository.js';
import { ExistingFactorStepUpRequired } from './mfa.errors.js';
import type { StepUpProofsService } from './step-up-proofs.service.js';
import { StepUpService } from './step-up.service.js';

describe('StepUpService', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let twin: IdentityReplica;

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    [identity, twin] = await Promise.all([testApp.startReplica(), testApp.startReplica()]);
  }, 120_000);
  afterAll(() => testApp.stop());

  const login = (email: string) => identity.post('/auth/login', { email, password: PASSWORD });
  const enrolled = () => registerProtectedPartner(identity);
  const auditOf = (userId: string, action: string) =>
    eventually(async () => {
      const rows = await testApp.query<{ result: string; details: Record<string, unknown> }>(
        'select result, details from audit_entry where resource_id = $1 and action = $2 order by sequence',
        [userId, action],
      );
      if (rows.length === 0) throw new Error(`no ${action}`);
      return rows;
    });
  const ageProofs = (userId: string) =>
    testApp.query(
      `update session_family set password_proof_at = now() - interval '11 minutes',
         factor_proof_at = now() - interval '11 minutes' where user_id = $1`,
      [userId],
    );

  describe('grant', () => {
    const stepUp = (body: object, options: CallOptions) => identity.post('/auth/mfa/step-up', body, options);
    /** Creates a user whose factor is not TOTP, as another method would leave it, with old proofs. */
    const withOtherFactor = async () => {
      const user = await enrolled();
      await testApp.query('delete from totp_factor where user_id = $1', [user.userId]);
      await testApp.query(
        `update user_account set mfa_method = 'sms', phone_number = '+4915112345678', phone_verified = true where id = $1`,
        [user.userId],
      );
      await ageProofs(user.userId);
      return user;
    };
    const addFactor = async (user: { bearer: string; recoveryCodes: string[] }, n = 0) => {
      const body = { method: 'recovery', operation: 'add_factor', code: user.recoveryCodes[n] };
      return expectStatus(await stepUp(body, user), 200).body.stepUpGrantId as string;
    };

    it('issues a grant of 300 seconds for a code once', async () => {
      const user = await enrolled();
      const body = { method: 'totp', operation: 'change_email', code: totpCode(user.secret) };
      const granted = expectStatus(await stepUp(body, user), 200);
      expect(granted.body).toEqual({ stepUpGrantId: expect.stringMatching(/^[\w-]{43}$/), expiresInSeconds: 300 });
      expect(granted.headers['cache-control']).toBe('no-store');
      expect(await stepUp(body, user)).toMatchObject({ status: 400, body: { code: 'mfa_proof_invalid' } });
      expect(await auditOf(user.userId, 'auth.mfa.stepup.granted')).toEqual([
        { result: 'success', details: { method: 'totp', operation: 'change_email' } },
      ]);
      expect(await auditOf(user.userId, 'auth.mfa.stepup.failed')).toHaveLength(1);
    });

    it('counts attempts per user and resets them after a success', async () => {
      const user = await enrolled();
      const guess = () => stepUp({ method: 'totp', operation: 'add_factor', code: '000000' }, user);
      for (let n = 0; n < 4; n += 1) expect((await guess()).status).toBe(400);
      expectStatus(await stepUp({ method: 'totp', operation: 'add_factor', code: totpCode(user.secret) }, user), 200);
      const statuses: number[] = [];
      for (let n = 0; n < 6; n += 1) statuses.push((await guess()).status);
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
    });

    it('refuses malformed requests, unsupported methods and users without a factor', async () => {
      const user = await enrolled();
      const code = totpCode(user.secret);
      const cases: [object, number, string][] = [
        [{ method: 'totp', operation: 'add_factor' }, 400, 'validation_failed'],
        [{ method: 'totp', operation: 'delete_account', code }, 400, 'validation_failed'],
        [{ method: 'fax', operation: 'add_factor', code }, 400, 'validation_failed'],
        [{ method: 'totp', operation: 'add_factor', code, userId: 'x' }, 400, 'validation_failed'],
        [{ method: 'sms', operation: 'add_factor', code }, 400, 'mfa_method_mismatch'],
        [{ method: 'sms', operation: 'add_factor', credential: {} }, 400, 'validation_failed'],
        [{ method: 'passkey', operation: 'add_factor', credential: {} }, 400, 'mfa_proof_invalid'],
        [{ method: 'passkey', operation: 'add_factor', code }, 400, 'validation_failed'],
      ];
      for (const [body, status, expected] of cases) {
        expect(await stepUp(body, user)).toMatchObject({ status, body: { code: expected } });
      }
      const start = (method: string) => identity.post('/auth/mfa/step-up/start', { method }, user);
      expect(await start('sms')).toMatchObject({ status: 400, body: { code: 'mfa_method_mismatch' } });
      expect(await start('passkey')).toMatchObject({ status: 400, body: { code: 'passkey_not_available' } });
      expect(await start('totp')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      expect((await identity.post('/auth/mfa/step-up/start', { method: 'sms' })).status).toBe(401);
      expect((await stepUp({ method: 'totp', operation: 'add_factor', code }, {})).status).toBe(401);
      const partner = await registerPartner(identity);
      const none = await stepUp({ method: 'totp', operation: 'add_factor', code }, partner);
      expect(none).toMatchObject({ status: 400, body: { code: 'mfa_not_enabled' } });
    });

    it('is required for another factor when the last proof is old', async () => {
      const user = await withOtherFactor();
      const refused = {
        status: 403,
        body: { code: 'existing_factor_step_up_required', stepUpUrl: '/auth/mfa/step-up' },
      };
      const setup = (stepUpGrantId?: string) => identity.post('/auth/mfa/setup', { stepUpGrantId }, user);
      expect(await setup()).toMatchObject(refused);
      expect(await setup('x'.repeat(43))).toMatchObject(refused);
      const stepUpGrantId = await addFactor(user);
      const { secret } = expectStatus(await setup(stepUpGrantId), 200).body as { secret: string };
      const enable = (body: object) => identity.post('/auth/mfa/enable', body, user);
      const code = totpCode(secret);
      expect(await enable({ code })).toMatchObject(refused);
      expect(await enable({ code, stepUpGrantId: 'x' })).toMatchObject(refused);
      const wrong = await enable({ code: '000000', stepUpGrantId });
      expect(wrong).toMatchObject({ status: 400, body: { code: 'mfa_code_invalid' } });
      // Neither the refusals spent the code, nor the wrong code the grant.
      expectStatus(await enable({ code, stepUpGrantId }), 200);
      const [row] = await testApp.query('select mfa_method as method from user_account where id = $1', [user.userId]);
      expect(row).toEqual({ method: 'totp' });
    });

    it('is used by one of two concurrent confirmations', async () => {
      const user = await withOtherFactor();
      const stepUpGrantId = await addFactor(user);
      const { secret } = (await identity.post('/auth/mfa/setup', { stepUpGrantId }, user)).body;
      const responses = await Promise.all(
        [-1, 0, 1].map((step, n) =>
          (n % 2 ? twin : identity).post('/auth/mfa/verify', { code: totpCode(secret, step), stepUpGrantId }, user),
        ),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    });

    it('is invalid for another operation, another session and after a change of factors', async () => {
      const user = await withOtherFactor();
      const body = { method: 'recovery', operation: 'change_email', code: user.recoveryCodes[0] };
      const forAddress = expectStatus(await stepUp(body, user), 200).body.stepUpGrantId as string;
      const setup = (stepUpGrantId: string, options: CallOptions) =>
        identity.post('/auth/mfa/setup', { stepUpGrantId }, options);
      expect((await setup(forAddress, user)).body.code).toBe('existing_factor_step_up_required');

      const grant = await addFactor(user, 1);
      const { tempToken } = (await login(user.email)).body;
      const verify = { tempToken, code: user.recoveryCodes[2] };
      const other = sessionOf(expectStatus(await identity.post('/auth/mfa/verify', verify), 200));
      await ageProofs(user.userId);
      expect((await setup(grant, other)).body.code).toBe('existing_factor_step_up_required');
      expect((await setup(grant, user)).status).toBe(200);
      const replacing = { method: 'recovery', operation: 'replace_recovery_codes', code: user.recoveryCodes[3] };
      const { stepUpGrantId } = expectStatus(await stepUp(replacing, user), 200).body as { stepUpGrantId: string };
      const replaced = await identity.post('/auth/mfa/recovery-codes', { stepUpGrantId }, user);
      const renewed = sessionOf(expectStatus(replaced, 200));
      await ageProofs(user.userId);
      expect((await setup(grant, renewed)).body.code).toBe('existing_factor_step_up_required');
    });

    it('is not required for a first factor or after a recent proof', async () => {
      const partner = await registerPartner(identity);
      await ageProofs(partner.userId);
      expect((await identity.post('/auth/mfa/setup', undefined, partner)).status).toBe(200);
      const user = await enrolled();
      await testApp.query('delete from totp_factor where user_id = $1', [user.userId]);
      expect((await identity.post('/auth/mfa/setup', undefined, user)).status).toBe(200);
    });
  });
});

describe('StepUpService grants', () => {
  const NOW = new Date('2026-11-22T09:00:00.000Z');
  const caller = { userId: 'u', sessionId: 's' } as UserCaller;
  const user = { authEpoch: 1, mfaEpoch: 2, mfaEnabled: true } as User;

  /** Accepts every code and stores grants in memory. */
  function serviceWith(factorProofAt: Date | null): StepUpService {
    const grants = new Map<string, string>();
    const state: Pick<MfaStateRepository, 'createGrant' | 'findGrant' | 'consumeGrant'> = {
      createGrant: (binding) => {
        grants.set(`grant-${grants.size}`, binding);
        return Promise.resolve(`grant-${grants.size - 1}`);
      },
      findGrant: (id) => Promise.resolve(grants.get(id) ?? null),
      consumeGrant: (id) => Promise.resolve(grants.delete(id)),
    };
    const sessions = {
      getProofs: () => Promise.resolve({ factorProofAt, passwordProofAt: null, now: NOW }),
      getUser: () => Promise.resolve({ user }),
    };
    const nothing = () => Promise.resolve();
    return new StepUpService(
      sessions as unknown as SessionsService,
      { assertComplete: () => undefined, verify: () => Promise.resolve(true) } as unknown as StepUpProofsService,
      state as MfaStateRepository,
      { hit: nothing, reset: nothing } as unknown as RateLimits,
      { record: nothing } as unknown as AuditTrail,
      { recordForUser: nothing } as unknown as RefusedAttemptsService,
      { limits: {} } as IdentityConfig,
    );
  }
  const issue = (service: StepUpService, operation: StepUpOperation) =>
    service.grant(caller, { method: 'recovery', operation, code: 'AAAA-AAAA' });

  it('accepts a grant for its operation, session and epochs only', async () => {
    const service = serviceWith(null);
    const id = await issue(service, 'change_email');
    expect(await service.isValid(id, caller, user, 'change_email')).toBe(true);
    expect(await service.isValid(id, caller, user, 'add_factor')).toBe(false);
    expect(await service.isValid(id, { ...caller, sessionId: 'other' }, user, 'change_email')).toBe(false);
    expect(await service.isValid(id, caller, { authEpoch: 1, mfaEpoch: 3 }, 'change_email')).toBe(false);
  });

  it('consumes a grant once', async () => {
    const service = serviceWith(null);
    const id = await issue(service, 'add_factor');
    await service.consumeFactorGrant(id);
    await expect(service.consumeFactorGrant(id)).rejects.toThrow(ExistingFactorStepUpRequired);
  });

  it('requires no grant for a first factor or after a recent proof', async () => {
    expect(await serviceWith(null).checkFactorGrant(caller, { ...user, mfaEnabled: false }, undefined)).toBeNull();
    expect(await serviceWith(new Date(NOW.getTime() - 599_000)).checkFactorGrant(caller, user, undefined)).toBeNull();
  });

  it('requires a valid grant when the last proof is ten minutes old', async () => {
    const service = serviceWith(new Date(NOW.getTime() - 600_000));
    await expect(service.checkFactorGrant(caller, user, undefined)).rejects.toThrow(ExistingFactorStepUpRequired);
    const id = await issue(service, 'add_factor');
    expect(await service.checkFactorGrant(caller, user, id)).toBe(id);
  });
});
