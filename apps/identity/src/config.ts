import { availableParallelism } from 'node:os';
import { readSecretsConfig } from '@rmm/secrets';
import {
  readConfig,
  readFleetConfig,
  readOutboundBlockedCidrs,
  readOutboundExtraAllowedCidrs,
  type ConfigReader,
  type FleetConfig,
} from '@rmm/service-kit';
import type { Cidr } from '@rmm/validation';
import { readLimits, type IdentityLimits } from './limits.js';
import { readWebAuthnConfig, type WebAuthnConfig } from './passkeys/webauthn.config.js';
import type { Argon2Cost, HashingBudget } from './passwords/password-hasher.service.js';
import type { MfaMethod } from './users/user.types.js';

export const IDENTITY_CONFIG = Symbol('IDENTITY_CONFIG');

const ARGON2_FLOOR: Argon2Cost = { memoryKib: 19_456, timeCost: 2, parallelism: 1 };
const PEPPER_MIN_LENGTH = 32;
const QUEUE_PER_CORE = 32;
/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:5353`. */
const DNS_SERVER = /^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?|[0-9a-fA-F:]+)$/;

export interface MfaConfig {
  /** `ENABLE_2FA` */
  enabled: boolean;
  /** `MFA_FORCE_FOR_PARTNER_ADMIN` */
  forceByRole: boolean;
  recoveryCodePepper: string;
  issuer: string;
  /** Methods that users can enroll; a policy must leave one of them. SMS needs a provider. */
  offeredMethods: readonly MfaMethod[];
}

/** Settings for calls of identity providers and look-ups of domains. */
export interface SsoConfig {
  /** `OIDC_ALLOW_PRIVATE`: providers in private networks; never where the fleet is hosted. */
  allowPrivate: boolean;
  /** `SSO_DNS_SERVERS`: name servers that are asked for TXT records; those of the operating system when empty. */
  dnsServers: readonly string[];
}

export interface SmsConfig {
  /** `SMS_PROVIDER_URL`: an endpoint that takes `{ to, text }`. */
  providerUrl?: string;
  /** `SMS_PROVIDER_TOKEN`, sent as a bearer token. */
  providerToken?: string;
  /** Without a provider, development writes messages to this folder. */
  mailboxDir?: string;
}

export type IdentityConfig = Readonly<FleetConfig> & {
  secrets: ReturnType<typeof readSecretsConfig>;
  accessTokenTtlSeconds: number;
  refreshTokenTtlDays: number;
  refreshFamilyAbsoluteTtlDays: number;
  refreshRotationGraceSeconds: number;
  /** Private P-256 JWKs of the operator; without them one is generated and stored encrypted in the database. */
  signing?: { keys: Record<string, unknown>[]; activeKid: string };
  authCookie: { sameSite: 'lax' | 'strict' | 'none'; forceSecure: boolean };
  bootstrapAdmin?: { email: string; password: string };
  registrationEnabled: boolean;
  businessEmail: { required: boolean; allowlist: readonly string[] };
  mfa: MfaConfig;
  webauthn: WebAuthnConfig;
  sms: SmsConfig;
  outboundExtraAllowedCidrs: readonly Cidr[];
  outboundBlockedCidrs: readonly Cidr[];
  limits: IdentityLimits;
  lockout: { max: number; windowSeconds: number };
  argon2: Argon2Cost;
  hashing: HashingBudget;
  sso: SsoConfig;
  mail: { smtpUrl?: string; requireTls: boolean; from: string; mailboxDir?: string };
};

/** Reads every variable of identity. @throws ConfigError listing every problem. @see docs/reference/configuration.md */
export const readIdentityConfig = (env: NodeJS.ProcessEnv): IdentityConfig => readConfig(env, define);

function define(v: ConfigReader): IdentityConfig {
  const fleet = readFleetConfig(v, 'identity');
  const sms = smsConfig(v, fleet);
  return {
    ...fleet,
    secrets: readSecretsConfig(v),
    accessTokenTtlSeconds: v.integer('ACCESS_TOKEN_TTL_SECONDS', { min: 60, max: 3600, default: 900 }),
    refreshRotationGraceSeconds: v.integer('REFRESH_ROTATION_GRACE_SECONDS', { min: 0, max: 60, default: 15 }),
    ...refreshTtls(v),
    signing: signing(v),
    authCookie: {
      sameSite: v.enum('AUTH_COOKIE_SAME_SITE', ['lax', 'strict', 'none'], { default: 'lax', ignoreCase: true }),
      forceSecure: v.boolean('AUTH_COOKIE_FORCE_SECURE', { default: false }),
    },
    bootstrapAdmin: bootstrapAdmin(v),
    registrationEnabled: v.string('ENABLE_REGISTRATION') === 'true',
    businessEmail: {
      required: v.boolean('BUSINESS_EMAIL_REQUIRED', { default: true }),
      allowlist: v.list('BUSINESS_EMAIL_ALLOWLIST').map((item) => item.toLowerCase()),
    },
    mfa: {
      enabled: v.string('ENABLE_2FA') !== 'false',
      forceByRole: v.string('MFA_FORCE_FOR_PARTNER_ADMIN') === 'true',
      recoveryCodePepper: recoveryCodePepper(v, fleet),
      issuer: 'RMM',
      offeredMethods: canSendSms(sms) ? ['totp', 'sms', 'passkey'] : ['totp', 'passkey'],
    },
    webauthn: readWebAuthnConfig(v, fleet),
    sms,
    outboundExtraAllowedCidrs: readOutboundExtraAllowedCidrs(v, fleet),
    outboundBlockedCidrs: readOutboundBlockedCidrs(v),
    limits: readLimits(v),
    lockout: {
      max: v.integer('LOGIN_ACCOUNT_LOCKOUT_MAX', { min: 1, max: 100, default: 5 }),
      windowSeconds: v.integer('LOGIN_ACCOUNT_LOCKOUT_WINDOW_SECONDS', { min: 60, max: 86_400, default: 900 }),
    },
    argon2: argon2Cost(v, fleet),
    hashing: { concurrency: availableParallelism(), queue: availableParallelism() * QUEUE_PER_CORE },
    sso: sso(v, fleet),
    mail: {
      smtpUrl: v.url('SMTP_URL', { protocols: ['smtp', 'smtps'], secret: true }),
      // Without it a middleman who removes the offer of STARTTLS reads every link.
      requireTls: v.boolean('SMTP_REQUIRE_TLS', { default: fleet.isProduction }),
      from: v.string('MAIL_FROM', { default: 'no-reply@localhost' }),
      mailboxDir: fleet.isProduction ? undefined : v.string('MAILBOX_DIR'),
    },
  };
}

function sso(v: ConfigReader, fleet: FleetConfig): SsoConfig {
  return {
    allowPrivate: v.boolean('OIDC_ALLOW_PRIVATE', { default: false }) && !fleet.isHosted,
    dnsServers: v.list('SSO_DNS_SERVERS', {
      check: (item) => (DNS_SERVER.test(item) ? null : 'must be an address, with a port when it is not 53'),
    }),
  };
}

/** True when this installation sends text messages, or writes them to the mailbox folder of development. */
export const canSendSms = ({ providerUrl, mailboxDir }: SmsConfig): boolean =>
  providerUrl !== undefined || mailboxDir !== undefined;

function smsConfig(v: ConfigReader, { isProduction }: FleetConfig): SmsConfig {
  return {
    providerUrl: v.url('SMS_PROVIDER_URL', { protocols: ['http', 'https'], secret: true }),
    providerToken: v.string('SMS_PROVIDER_TOKEN', { secret: true }),
    mailboxDir: isProduction ? undefined : v.string('MAILBOX_DIR'),
  };
}

function refreshTtls(v: ConfigReader) {
  const refreshTokenTtlDays = v.integer('REFRESH_TOKEN_TTL_DAYS', { min: 1, max: 30, default: 7 });
  const absolute = v.integer('REFRESH_FAMILY_ABSOLUTE_TTL_DAYS', { min: 1, max: 90, default: 30 });
  if (absolute < refreshTokenTtlDays) {
    v.problem('REFRESH_FAMILY_ABSOLUTE_TTL_DAYS must not be smaller than REFRESH_TOKEN_TTL_DAYS');
  }
  return { refreshTokenTtlDays, refreshFamilyAbsoluteTtlDays: absolute };
}

function signing(v: ConfigReader): IdentityConfig['signing'] {
  const activeKid = v.string('JWT_ACTIVE_KID');
  const ring = v.json<{ keys: Record<string, unknown>[] }>('JWT_SIGNING_KEYRING', { check: checkJwkSet });
  if (!ring) return undefined;
  if (activeKid === undefined || !ring.keys.some((key) => key.kid === activeKid)) {
    v.problem('JWT_ACTIVE_KID must name a key of JWT_SIGNING_KEYRING');
  }
  return { keys: ring.keys, activeKid: activeKid ?? '' };
}

function checkJwkSet(value: unknown): string | null {
  const keys = (value as { keys?: unknown } | null)?.keys;
  const isPrivateP256 = (key: unknown) => {
    const { kty, crv, d, x, y, kid } = (key ?? {}) as Record<string, unknown>;
    return kty === 'EC' && crv === 'P-256' && [d, x, y, kid].every((part) => typeof part === 'string' && part !== '');
  };
  const ok = Array.isArray(keys) && keys.length > 0 && keys.every(isPrivateP256);
  return ok ? null : 'must be a JWK set of private P-256 keys, each with a kid';
}

function bootstrapAdmin(v: ConfigReader): IdentityConfig['bootstrapAdmin'] {
  const email = v.string('BOOTSTRAP_ADMIN_EMAIL', { pattern: /^[^\s@]+@[^\s@]+$/ })?.toLowerCase();
  const password = v.string('BOOTSTRAP_ADMIN_PASSWORD', { secret: true, minLength: 8 });
  if ((email === undefined) !== (password === undefined)) {
    v.problem('BOOTSTRAP_ADMIN_EMAIL and BOOTSTRAP_ADMIN_PASSWORD must both be set, or neither');
  }
  return email !== undefined && password !== undefined ? { email, password } : undefined;
}

function recoveryCodePepper(v: ConfigReader, { isProduction }: FleetConfig): string {
  const pepper = v.string('MFA_RECOVERY_CODE_PEPPER', { secret: true }) ?? '';
  if (isProduction && pepper.length < PEPPER_MIN_LENGTH) {
    v.problem(`MFA_RECOVERY_CODE_PEPPER must have at least ${PEPPER_MIN_LENGTH} characters in production`);
  }
  return pepper;
}

/** Production refuses costs below the default; tests use cheaper hashes. */
function argon2Cost(v: ConfigReader, { isProduction }: FleetConfig): Argon2Cost {
  const floor = isProduction ? ARGON2_FLOOR : { memoryKib: 1024, timeCost: 2, parallelism: 1 };
  const { memoryKib, timeCost, parallelism } = ARGON2_FLOOR;
  return {
    memoryKib: v.integer('ARGON2_MEMORY_KIB', { min: floor.memoryKib, max: 4_194_304, default: memoryKib }),
    timeCost: v.integer('ARGON2_TIME_COST', { min: floor.timeCost, max: 100, default: timeCost }),
    parallelism: v.integer('ARGON2_PARALLELISM', { min: floor.parallelism, max: 64, default: parallelism }),
  };
}
