import { createHash } from 'node:crypto';
import { readRateLimits, type RateLimit } from '@rmm/rate-limits';
import type { ConfigReader } from '@rmm/service-kit';

const MINUTE = 60;
const HOUR = 3600;

/** A limit against guessing: refused attempts count too, and without Redis every attempt is refused. */
const guarded = (name: string, limit: number, windowSeconds: number): RateLimit => ({
  name,
  limit,
  windowSeconds,
  onRedisDown: 'refuse',
  countRefused: true,
});
/** A limit that protects resources: without Redis every attempt passes. */
const lenient = (name: string, limit: number, windowSeconds: number): RateLimit => ({
  name,
  limit,
  windowSeconds,
  onRedisDown: 'allow',
});

/** Requests of a SCIM token: a provisioning cycle of Entra ID or Okta needs a few requests a second. */
export const SCIM_REQUESTS = lenient('scim-token', 1_500, MINUTE);

/**
 * Defaults of the rate limits. Services call `RateLimits.hit` with the configured ones once the request is valid, so a
 * malformed request does not count; `@RateLimit` counts before the body is validated. @see docs/reference/rate-limits.md
 */
const DEFAULTS = {
  loginWide: guarded('login-wide', 100, 5 * MINUTE),
  loginNarrow: guarded('login-narrow', 5, 5 * MINUTE),
  refresh: lenient('refresh', 60, MINUTE),
  mfaVerify: guarded('mfa-verify', 5, 5 * MINUTE),
  mfaStepUp: guarded('mfa-step-up', 5, 5 * MINUTE),
  passkeyOptions: guarded('passkey-options', 20, 5 * MINUTE),
  passkeyPassword: guarded('passkey-password', 5, 5 * MINUTE),
  passkeyLogin: guarded('passkey-login', 100, 5 * MINUTE),
  phoneVerifyNumber: guarded('phone-verify-number', 3, HOUR),
  phoneVerifyUser: guarded('phone-verify-user', 5, HOUR),
  phoneConfirm: guarded('phone-confirm', 5, 5 * MINUTE),
  smsSession: guarded('sms-session', 3, 5 * MINUTE),
  smsPhone: guarded('sms-phone', 5, 15 * MINUTE),
  currentPassword: guarded('current-password', 5, 5 * MINUTE),
  changePassword: guarded('change-password', 5, 5 * MINUTE),
  forgotPassword: guarded('forgot-password', 3, HOUR),
  forgotPasswordAccount: lenient('forgot-password-account', 5, HOUR),
  resetPassword: guarded('reset-password', 10, HOUR),
  acceptInvite: guarded('accept-invite', 10, HOUR),
  previewInvite: guarded('preview-invite', 30, 10 * MINUTE),
  register: guarded('register', 5, HOUR),
  registerPartner: guarded('register-partner', 3, HOUR),
  registerPartnerAddress: guarded('register-partner-address', 3, HOUR),
  verifyEmail: guarded('verify-email', 10, 5 * MINUTE),
  resendVerificationMinute: guarded('resend-verification-minute', 1, MINUTE),
  resendVerificationHour: guarded('resend-verification-hour', 5, HOUR),
  emailChange: guarded('email-change', 5, HOUR),
  avatarUpload: lenient('avatar-upload', 20, HOUR),
  invite: lenient('invite', 60, HOUR),
  inviteAddress: lenient('invite-address', 5, 24 * HOUR),
  ssoDiscovery: guarded('sso-discovery', 20, 5 * MINUTE),
  ssoLogin: guarded('sso-login', 10, 5 * MINUTE),
  ssoLoginClient: guarded('sso-login-client', 30, 5 * MINUTE),
  ssoCallback: guarded('sso-callback', 30, 5 * MINUTE),
  ssoExchange: guarded('sso-exchange', 30, 5 * MINUTE),
  ssoBackchannelLogout: guarded('sso-backchannel-logout', 300, 5 * MINUTE),
  ssoCheck: lenient('sso-check', 30, MINUTE),
  ssoProviderTest: lenient('sso-provider-test', 10, 5 * MINUTE),
  auditExport: lenient('audit-export', 10, HOUR),
  auditVerify: lenient('audit-verify', 10, HOUR),
};

/** Returns what a window counts an e-mail address by. Redis stores no addresses, not even of users without an account. */
export const emailBucket = (email: string): string => createHash('sha256').update(email).digest('base64url');

/** Returns what a window counts a phone number by; Redis stores no numbers. */
export const phoneBucket = (number: string): string => emailBucket(number);

export type IdentityLimits = Record<keyof typeof DEFAULTS, RateLimit>;

/** Reads the limits, each of which a variable may set: `RATE_LIMIT_LOGIN_NARROW=5/300` is five in 300 seconds. */
export const readLimits = (v: ConfigReader): IdentityLimits => readRateLimits(v, DEFAULTS);
