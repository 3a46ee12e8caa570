import { RateLimitedError } from '@rmm/service-kit';
import type { AcceptInviteDto } from '../invitations/dto/accept-invitation.dto.js';
import type { InvitationAcceptanceService } from '../invitations/invitation-acceptance.service.js';
import { InviteAlreadyAccepted, InviteInvalid } from '../invitations/invitation.errors.js';
import { LoginFailed } from '../login/login.errors.js';
import type { LoginResult } from '../mfa/mfa-login.service.js';
import type { MfaVerificationService } from '../mfa/mfa-verification.service.js';
import { MfaCodeInvalid, MfaSessionInvalid } from '../mfa/mfa.errors.js';
import { ResetTokenInvalid, WeakPassword } from '../passwords/password.errors.js';
import type { PasswordsService } from '../passwords/passwords.service.js';
import type { ResetLinksService } from '../passwords/reset-links.service.js';
import type { RegisterPartnerDto } from '../registration/dto/register.dto.js';
import type { EmailVerificationService, Verification } from '../registration/email-verification.service.js';
import { VerificationInvalid } from '../registration/registration.errors.js';
import type { RegistrationsService } from '../registration/registrations.service.js';
import type { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import type { IssuedSession } from '../sessions/sessions.service.js';
import { AccountFormsService } from './account-forms.service.js';

const TEMP_TOKEN = 'a'.repeat(43);

describe('AccountFormsService', () => {
  const request = jest.fn<Promise<void>, [email: string, client: string]>();
  const reset = jest.fn<Promise<void>, [token: string, password: string, client: string]>();
  const registerPartner = jest.fn<Promise<void>, [dto: RegisterPartnerDto, client: string]>();
  const verify = jest.fn<Promise<Verification>, [token: string, client: string]>();
  const accept = jest.fn<Promise<LoginResult>, [dto: AcceptInviteDto, client: string]>();
  const verifyFactor = jest.fn<Promise<LoginResult>, [tempToken: string, code: string]>();
  const sendSms = jest.fn<Promise<void>, [tempToken: string]>();
  const forms = new AccountFormsService(
    { request } as unknown as ResetLinksService,
    { reset } as unknown as PasswordsService,
    { registerPartner } as unknown as RegistrationsService,
    { verify } as unknown as EmailVerificationService,
    { accept } as unknown as InvitationAcceptanceService,
    { verify: verifyFactor, sendSms } as unknown as MfaVerificationService,
    { auditing: (_: unknown, act: () => unknown) => act() } as unknown as RefusedAttemptsService,
  );
  const submit = (page: string, fields: Record<string, string>, token: unknown = 'a-token') =>
    forms.submit({ page, token, fields: new URLSearchParams(fields), client: 'client' });
  const session = { refreshToken: 'of the session' } as IssuedSession;
  const entered = { body: {}, session } as LoginResult;
  const challenge = (mfaMethod: string) =>
    ({ body: { tempToken: TEMP_TOKEN, mfaMethod }, session: null }) as LoginResult;

  beforeEach(() => {
    jest.resetAllMocks();
    for (const done of [request, reset, registerPartner, sendSms]) done.mockResolvedValue();
  });

  it('requests a link for the address', async () => {
    expect(await submit('forgot-password', { email: 'Robin@Example.com' })).toEqual({ status: 200, step: 'sent' });
    expect(request).toHaveBeenCalledWith('robin@example.com', 'client');
  });

  it('sets a new password with the token of the address', async () => {
    const fields = { password: 'another-horse', token: 'of the form', newPassword: 'ignored' };
    expect(await submit('reset-password', fields)).toEqual({ status: 200, step: 'done' });
    expect(reset).toHaveBeenCalledWith('a-token', 'another-horse', 'client');
  });

  it.each<Record<string, string>>([{}, { email: '' }, { email: 'no address' }])(
    'refuses the fields %j of a forgotten password',
    async (fields) => {
      expect(await submit('forgot-password', fields)).toMatchObject({
        status: 400,
        code: 'validation_failed',
        step: 'form',
      });
      expect(request).not.toHaveBeenCalled();
    },
  );

  it.each([null, '', ['a', 'b'], { a: 1 }])('refuses the token %j', async (token) => {
    for (const page of ['reset-password', 'accept-invite', 'verify-email']) {
      const result = await submit(page, { password: 'another-horse' }, token);
      expect(result).toMatchObject({ status: 400, step: 'invalid' });
    }
    for (const act of [reset, accept, verify]) expect(act).not.toHaveBeenCalled();
  });

  describe('sign-up', () => {
    const form = { companyName: 'Acme', name: 'Robin', email: 'Robin@Acme.test', password: 'another-horse' };

    it('registers a partner whose terms are accepted', async () => {
      const result = await submit('sign-up', { ...form, acceptTerms: 'on' });
      expect(result).toEqual({ status: 200, step: 'sent', values: { email: 'robin@acme.test' } });
      expect(registerPartner).toHaveBeenCalledWith(expect.objectContaining({ acceptTerms: true }), 'client');
    });

    it('shows a refused form again, without its password', async () => {
      const result = await submit('sign-up', form);
      expect(result).toMatchObject({ status: 400, code: 'validation_failed', step: 'form' });
      expect(result?.values).toMatchObject({ companyName: 'Acme', name: 'Robin', email: 'Robin@Acme.test' });
      expect(JSON.stringify(result)).not.toContain('another-horse');
      expect(registerPartner).not.toHaveBeenCalled();
    });
  });

  describe('verify-email', () => {
    const partner = { name: 'Acme' };
    it.each<[string, unknown, object]>([
      ['a registration', { login: { session }, partner }, { step: 'registered', values: { partner: 'Acme' }, session }],
      ['a taken address', { verified: false, status: 'sign_in' }, { step: 'sign-in' }],
      [
        'a changed address',
        { verified: true, purpose: 'email_change', email: 'a@b.test' },
        { step: 'changed', values: { email: 'a@b.test' } },
      ],
      [
        'the address of an account',
        { verified: true, purpose: 'email_verification', email: 'a@b.test' },
        { step: 'confirmed', values: { email: 'a@b.test' } },
      ],
    ])('shows the result for %s', async (_, verification, expected) => {
      verify.mockResolvedValue(verification as Verification);
      expect(await submit('verify-email', {})).toEqual({ status: 200, ...expected });
    });

    it('shows that a link does not work any more', async () => {
      verify.mockRejectedValue(new VerificationInvalid());
      expect(await submit('verify-email', {})).toMatchObject({ status: 400, step: 'invalid' });
    });
  });

  describe('accept-invite', () => {
    it('accepts with a password, and a name where one is given', async () => {
      accept.mockResolvedValue(entered);
      const password = 'another-horse';
      expect(await submit('accept-invite', { password, name: '' })).toEqual({ status: 200, step: 'done', session });
      await submit('accept-invite', { password, name: 'Robin' });
      expect(accept.mock.calls.map(([dto]) => dto)).toMatchObject([{ password }, { password, name: 'Robin' }]);
    });

    it.each([
      ['totp', 0],
      ['sms', 1],
    ])('asks an account for its factor %s', async (method, messages) => {
      accept.mockResolvedValue(challenge(method));
      const result = await submit('accept-invite', { password: 'another-horse' });
      expect(result).toEqual({ status: 200, step: 'code', values: { tempToken: TEMP_TOKEN } });
      expect(sendSms).toHaveBeenCalledTimes(messages);
    });

    it('accepts with the code, and asks again for another one', async () => {
      const code = { tempToken: TEMP_TOKEN, code: '123456' };
      verifyFactor.mockRejectedValueOnce(new MfaCodeInvalid()).mockResolvedValueOnce(entered);
      expect(await submit('accept-invite', code)).toMatchObject({
        ...{ status: 400, code: 'mfa_code_invalid', step: 'code', values: { tempToken: TEMP_TOKEN } },
      });
      expect(await submit('accept-invite', code)).toMatchObject({ status: 200, step: 'done' });
      verifyFactor.mockRejectedValueOnce(new MfaSessionInvalid());
      expect(await submit('accept-invite', code)).toMatchObject({ status: 401, step: 'form' });
      expect(accept).not.toHaveBeenCalled();
    });

    it.each([
      [new InviteInvalid(), { status: 400, step: 'invalid' }],
      [new InviteAlreadyAccepted(), { status: 410, step: 'accepted' }],
      [new LoginFailed(), { status: 401, code: 'login_failed', step: 'form' }],
    ])('shows the refusal %s', async (error, expected) => {
      accept.mockRejectedValue(error);
      expect(await submit('accept-invite', { password: 'x' })).toMatchObject(expected);
    });

    it('needs a password', async () => {
      expect(await submit('accept-invite', {})).toMatchObject({ status: 400, code: 'validation_failed', step: 'form' });
      expect(accept).not.toHaveBeenCalled();
    });
  });

  it.each([
    [new ResetTokenInvalid(), { status: 400, code: 'reset_token_invalid', step: 'invalid' }],
    [new WeakPassword('too weak'), { status: 400, code: 'weak_password', step: 'form' }],
    [new RateLimitedError('Too many', { retryAfterSeconds: 60 }), { status: 429, code: 'rate_limited', step: 'form' }],
  ])('shows the refusal %s', async (error, expected) => {
    reset.mockRejectedValue(error);
    expect(await submit('reset-password', { password: 'x' })).toMatchObject(expected);
  });

  it('does not hide a failure', async () => {
    reset.mockRejectedValue(new Error('broken'));
    await expect(submit('reset-password', { password: 'x' })).rejects.toThrow('broken');
  });

  it.each(['login', 'security', 'switch', 'not-found', '../reset-password', 'constructor'])(
    'has no form for %s',
    async (page) => {
      expect(await submit(page, { email: 'robin@example.com', password: 'x' })).toBeNull();
    },
  );
});
