import { Injectable } from '@nestjs/common';
import { DomainError } from '@rmm/service-kit';
import { readDto } from '@rmm/validation';
import { AcceptInviteDto } from '../invitations/dto/accept-invitation.dto.js';
import { InvitationAcceptanceService } from '../invitations/invitation-acceptance.service.js';
import { INVITATION_REFUSALS } from '../invitations/invitation.errors.js';
import { VerifyMfaDto } from '../mfa/dto/verify-mfa.dto.js';
import type { LoginResult } from '../mfa/mfa-login.service.js';
import { MfaVerificationService } from '../mfa/mfa-verification.service.js';
import { ForgotPasswordDto } from '../passwords/dto/forgot-password.dto.js';
import { ResetPasswordDto } from '../passwords/dto/reset-password.dto.js';
import { PasswordsService } from '../passwords/passwords.service.js';
import { ResetLinksService } from '../passwords/reset-links.service.js';
import { RegisterPartnerDto } from '../registration/dto/register.dto.js';
import { VerifyEmailDto } from '../registration/dto/verify-email.dto.js';
import { EmailVerificationService } from '../registration/email-verification.service.js';
import { RegistrationsService } from '../registration/registrations.service.js';
import { RefusedAttemptsService } from '../sessions/refused-attempts.service.js';
import type { PageResult, PageStep } from './account-pages.service.js';

/** A form that a browser without JavaScript posted. */
export interface PostedForm {
  page: string;
  /** The token of the mailed link, in the address of the page. */
  token: unknown;
  fields: URLSearchParams;
  /** Key of the rate limits. */
  client: string;
}

type Shown = Omit<PageResult, 'status' | 'code'>;
type Action = (form: PostedForm) => Promise<Shown>;

/** Errors that replace the form by another part of its page. */
const STEPS: Readonly<Partial<Record<string, PageStep>>> = {
  invite_accepted: 'accepted',
  invite_invalid: 'invalid',
  reset_token_invalid: 'invalid',
  verification_invalid: 'invalid',
};
/** The pages that a mailed link opens. */
const LINKED_PAGES = ['accept-invite', 'reset-password', 'verify-email'];

/** Answers the forms that need neither a session nor a script, by the use cases of the API: those that mails lead to, and sign-up. */
@Injectable()
export class AccountFormsService {
  private readonly actions: Readonly<Record<string, Action | undefined>> = {
    'accept-invite': (form) => (form.fields.has('tempToken') ? this.proveFactor(form) : this.acceptInvitation(form)),
    'forgot-password': (form) => this.requestLink(form),
    'reset-password': (form) => this.resetPassword(form),
    'sign-up': (form) => this.signUp(form),
    'verify-email': (form) => this.verifyEmail(form),
  };

  constructor(
    private readonly links: ResetLinksService,
    private readonly passwords: PasswordsService,
    private readonly registrations: RegistrationsService,
    private readonly verifications: EmailVerificationService,
    private readonly invitations: InvitationAcceptanceService,
    private readonly factors: MfaVerificationService,
    private readonly refusals: RefusedAttemptsService,
  ) {}

  /** @returns what the page shows; null for a page without such a form */
  async submit(form: PostedForm): Promise<PageResult | null> {
    const action = Object.hasOwn(this.actions, form.page) ? this.actions[form.page] : undefined;
    if (!action) return null;
    try {
      return { status: 200, ...(await action(form)) };
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      const { status, code } = error;
      return { status, code, step: stepOf(form, code), values: valuesOf(form) };
    }
  }

  private async requestLink({ fields, client }: PostedForm): Promise<Shown> {
    await this.links.request(readDto(ForgotPasswordDto, { email: fieldOf(fields, 'email') }).email, client);
    return { step: 'sent' };
  }

  private async resetPassword({ token, fields, client }: PostedForm): Promise<Shown> {
    const dto = readDto(ResetPasswordDto, { token, password: fields.get('password') ?? '' });
    await this.passwords.reset(dto.token, dto.password ?? '', client);
    return { step: 'done' };
  }

  private async signUp({ fields, client }: PostedForm): Promise<Shown> {
    const [companyName, name, email, password] = ['companyName', 'name', 'email', 'password'].map((field) =>
      fieldOf(fields, field),
    );
    const acceptTerms = fields.get('acceptTerms') === 'on';
    const dto = readDto(RegisterPartnerDto, { companyName, name, email, password, acceptTerms });
    await this.registrations.registerPartner(dto, client);
    return { step: 'sent', values: { email: dto.email } };
  }

  private async verifyEmail({ token, client }: PostedForm): Promise<Shown> {
    const verification = await this.verifications.verify(readDto(VerifyEmailDto, { token }).token, client);
    if ('login' in verification) {
      const { login, partner } = verification;
      return { step: 'registered', values: { partner: partner.name }, session: login.session };
    }
    if (!verification.verified) return { step: 'sign-in' };
    const { purpose, email } = verification;
    return { step: purpose === 'email_change' ? 'changed' : 'confirmed', values: { email } };
  }

  private async acceptInvitation({ token, fields, client }: PostedForm): Promise<Shown> {
    // Without a password the API takes a bearer token, which no form sends.
    const dto = readDto(AcceptInviteDto, {
      token,
      password: fields.get('password') ?? '',
      name: fieldOf(fields, 'name'),
    });
    return this.showLogin(
      await this.refusals.auditing(INVITATION_REFUSALS, () => this.invitations.accept(dto, client)),
    );
  }

  private async proveFactor({ fields }: PostedForm): Promise<Shown> {
    const dto = readDto(VerifyMfaDto, { tempToken: fields.get('tempToken'), code: fields.get('code') });
    return this.showLogin(await this.factors.verify(dto.tempToken ?? '', dto.code));
  }

  private async showLogin({ body, session }: LoginResult): Promise<Shown> {
    if (session) return { step: 'done', session };
    const { tempToken, mfaMethod } = body;
    if (mfaMethod === 'sms') await this.factors.sendSms(tempToken);
    return { step: 'code', values: { tempToken } };
  }
}

/** Returns the part of the page that shows an error. */
function stepOf({ page, token, fields }: PostedForm, code: string): PageStep {
  if (LINKED_PAGES.includes(page) && (typeof token !== 'string' || token === '')) return 'invalid';
  if (fields.has('tempToken') && code !== 'mfa_session_invalid') return STEPS[code] ?? 'code';
  return STEPS[code] ?? 'form';
}

/** Returns a field as JSON would have it: absent when it is empty. */
const fieldOf = (fields: URLSearchParams, name: string): string | undefined => fields.get(name) || undefined;

/** Returns what a refused form shows again. */
const valuesOf = ({ fields }: PostedForm): PageResult['values'] =>
  Object.fromEntries(
    ['companyName', 'email', 'name', 'tempToken'].map((name) => [name, (fields.get(name) ?? '').slice(0, 255)]),
  );
