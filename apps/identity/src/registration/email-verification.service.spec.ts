import type { AuditTrail } from '@rmm/messaging';
import type { WorkerDatabase } from '@rmm/persistence';
import type { RateLimits } from '@rmm/rate-limits';
import { mintLinkToken } from '@rmm/secrets';
import { eventually } from '@rmm/testing-services';
import { ADMIN, expectStatus, IdentityTestApp, type IdentityReplica } from '../../test/identity-test-app.js';
import { registerPartner, signInAdmin, type TestUser } from '../../test/users.js';
import type { IdentityConfig } from '../config.js';
import type { MailService } from '../mail/mail.service.js';
import type { SessionRevocationsService } from '../sessions/session-revocations.service.js';
import { EmailVerificationService } from './email-verification.service.js';
import type { CompletedRegistration, RegistrationCompletionService } from './registration-completion.service.js';
import { VerificationInvalid } from './registration.errors.js';
import type { RegistrationsRepository } from './registrations.repository.js';

const { key } = mintLinkToken();
const completed = { verified: true } as CompletedRegistration;

describe('EmailVerificationService', () => {
  describe('verify', () => {
    const recorded: string[] = [];
    const user = { id: 'u1', name: 'Robin', email: 'a@b.test', pendingEmail: null, memberships: [] };

    const verify = (
      token: string,
      registration: CompletedRegistration | 'taken' | null,
      link: { userId: string; purpose: string } | null = null,
    ) =>
      new EmailVerificationService(
        { complete: async () => registration } as unknown as RegistrationCompletionService,
        { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as unknown as WorkerDatabase,
        {
          useEmailLink: async () => link,
          findUser: async () => user,
          markVerified: async () => undefined,
        } as unknown as RegistrationsRepository,
        {} as SessionRevocationsService,
        { hit: async () => undefined } as unknown as RateLimits,
        {
          record: async (_: unknown, __: unknown, action: string) => void recorded.push(action),
          recordDirect: async (_: unknown, action: string) => void recorded.push(action),
        } as unknown as AuditTrail,
        {} as MailService,
        { limits: {} } as IdentityConfig,
      ).verify(token, '192.0.2.1');

    beforeEach(() => {
      recorded.length = 0;
    });

    it('completes a registration', async () => {
      expect(await verify(key, completed)).toBe(completed);
    });

    it('asks the user to log in when the address has one by now', async () => {
      expect(await verify(key, 'taken')).toEqual({ verified: false, status: 'sign_in' });
    });

    it('confirms an address when the token is of no registration', async () => {
      const confirmed = { verified: true, purpose: 'email_verification', email: 'a@b.test' };
      expect(await verify(key, null, { userId: 'u1', purpose: 'email_verification' })).toEqual(confirmed);
      expect(recorded).toEqual(['auth.email_verified']);
    });

    it('refuses a link to a change whose address is no longer requested', async () => {
      const link = { userId: 'u1', purpose: 'email_change' };
      await expect(verify(key, null, link)).rejects.toThrow(VerificationInvalid);
    });

    it.each([
      ['an unknown token', key],
      ['a malformed token, without a lookup', 'short'],
    ])('refuses %s and records it', async (_, token) => {
      await expect(verify(token, token === key ? null : completed)).rejects.toThrow(VerificationInvalid);
      expect(recorded).toEqual(['auth.email_verify_failed']);
    });
  });

  describe('resend', () => {
    let testApp: IdentityTestApp;
    let identity: IdentityReplica;
    let member: TestUser;

    beforeAll(async () => {
      testApp = await IdentityTestApp.start();
      identity = await testApp.startReplica();
      member = await registerPartner(identity);
    }, 120_000);
    afterAll(() => testApp.stop());

    const resend = (bearer: string) => identity.post('/auth/resend-verification', undefined, { bearer });

    it('mails a link that verifies the address once', async () => {
      const bearer = await signInAdmin(identity);
      expect(expectStatus(await resend(bearer), 200).body).toEqual({ sent: true });
      expect(await resend(bearer)).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
      const token = await identity.mailedToken(ADMIN.email);
      const clicks = await Promise.all([1, 2].map(() => identity.post('/auth/verify-email', { token })));
      expect(clicks.map(({ status }) => status).sort()).toEqual([200, 400]);
      expect(clicks.find(({ status }) => status === 200)?.body).toEqual({
        verified: true,
        purpose: 'email_verification',
        email: ADMIN.email,
      });
      expect(clicks.find(({ status }) => status === 400)?.body.code).toBe('verification_invalid');
      expect(await resend(bearer)).toMatchObject({ status: 400, body: { code: 'already_verified' } });
      expect((await identity.get('/users/me', { bearer })).status).toBe(200);
      await eventually(async () => {
        const rows = await testApp.query<{ action: string }>(
          `select action from audit_entry where resource_id = (select id::text from user_account where email = $1)
           and action like 'auth.%' order by timestamp, sequence`,
          [ADMIN.email],
        );
        expect(rows.map(({ action }) => action)).toEqual(['auth.verification_resent', 'auth.email_verified']);
      });
    });

    it('is refused for a verified address, and when no mail can be sent', async () => {
      expect(await resend(member.bearer)).toMatchObject({ status: 400, body: { code: 'already_verified' } });
      expect((await identity.post('/auth/resend-verification')).status).toBe(401);
      await testApp.query('update user_account set email_verified_at = null where id = $1', [member.userId]);
      const silent = await testApp.startReplica({ MAILBOX_DIR: '' });
      const refused = await silent.post('/auth/resend-verification', undefined, member);
      expect(refused).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    });

    it('invalidates the link after an hour and with a change of the address', async () => {
      expectStatus(await resend(member.bearer), 200);
      const token = await identity.mailedToken(member.email, 2);
      await testApp.query(`update link_token set expires_at = now() where user_id = $1`, [member.userId]);
      expect((await identity.post('/auth/verify-email', { token })).body.code).toBe('verification_invalid');
      await testApp.query(
        `update link_token set expires_at = now() + interval '1 hour', epoch = epoch - 1 where user_id = $1`,
        [member.userId],
      );
      expect((await identity.post('/auth/verify-email', { token })).body.code).toBe('verification_invalid');
    });
  });
});
