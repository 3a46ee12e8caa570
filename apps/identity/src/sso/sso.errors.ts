import { BadRequestError, ConflictError, ForbiddenError } from '@rmm/service-kit';

export class OrganizationContextRequired extends BadRequestError {
  override code = 'organization_context_required';
  override error = 'Organization context required';
}

export class OidcIssuerRequired extends BadRequestError {
  override code = 'oidc_issuer_required';
  override error = 'An OIDC provider needs an issuer';
}

/** Carries `success: false`, as the response of a test does. */
export class OidcDiscoveryFailed extends BadRequestError {
  override code = 'oidc_discovery_failed';
  override error = 'OIDC discovery failed';

  /** @param reason  a sentence for the administrator, without addresses of our network */
  constructor(reason: string, options: { cause?: unknown } = {}) {
    super(undefined, { message: reason, extras: { success: false }, cause: options.cause });
  }
}

export class SamlNotSupported extends BadRequestError {
  override code = 'saml_not_supported';
  override error = 'SAML is not supported';

  constructor() {
    super(undefined, { extras: { success: false } });
  }
}

export class DefaultRoleRequired extends BadRequestError {
  override code = 'default_role_required';
  override error = 'autoProvision needs a defaultRoleId';
}

/** The role is a system role, or not one of the owner. */
export class InvalidDefaultRole extends BadRequestError {
  override code = 'invalid_default_role';
  override error = 'The default role must be a custom role of the owner';
}

export class ProviderIncomplete extends BadRequestError {
  override code = 'provider_incomplete';
  override error = 'An active provider needs an issuer, a client id and a client secret';
}

/** The stored endpoints may not be called, or there are none. */
export class InvalidProviderConfiguration extends BadRequestError {
  override code = 'invalid_provider_configuration';
  override error = 'The provider is not configured correctly';
}

export class TooManySsoProviders extends ConflictError {
  override code = 'too_many_sso_providers';

  constructor(max: number) {
    super(`At most ${max} providers for each owner`);
  }
}

export class TooManySsoDomains extends ConflictError {
  override code = 'too_many_sso_domains';

  constructor(max: number) {
    super(`At most ${max} domains for each organization`);
  }
}

export class DomainNotVerified extends BadRequestError {
  override code = 'domain_not_verified';
  override error = 'The TXT record was not found';
}

/** Another organization has proven the domain. */
export class DomainTaken extends ConflictError {
  override code = 'domain_taken';
  override error = 'The domain belongs to another organization';
}

export class SsoCodeInvalid extends BadRequestError {
  override code = 'sso_code_invalid';
  override error = 'This sign-in is invalid or has expired';
}

/** The organization of the user enforces single sign-on. */
export class SsoEnforced extends ForbiddenError {
  override code = 'sso_enforced';
  override error = 'Your organization requires single sign-on';
}

/** Without a password the user could not sign in any more. */
export class LastSignInMethod extends ConflictError {
  override code = 'last_sign_in_method';
  override error = 'Set a password before you remove your only sign-in method';
}

/** A logout token of a provider that does not verify. */
export class LogoutTokenInvalid extends BadRequestError {
  override code = 'logout_token_invalid';
  override error = 'The logout token is invalid';
}

/** Codes of a failed callback: the browser is sent to `/login?error=<code>`. @see docs/reference/sso.md */
export const SSO_CALLBACK_CODES = [
  'session_expired',
  'provider_not_found',
  'domain_not_allowed',
  'user_not_found',
  'default_role_required',
  'no_org_access',
  'invalid_callback',
  'sso_error',
  'session_invalid',
  'sso_provider_inactive',
  'sso_config_changed',
  'invalid_provider_configuration',
  'sso_no_id_token',
  'sso_provider_unverified',
  'sso_subject_mismatch',
  'sso_email_unverified',
  'sso_no_subject',
  'sso_domain_unverified',
  'sso_link_required',
  'invite_required',
  'user_creation_failed',
  'no_partner_access',
  'invalid_role_scope',
  'identity_in_use',
  'epoch_unavailable',
  'rate_limited',
] as const;
export type SsoCallbackCode = (typeof SSO_CALLBACK_CODES)[number];

/** Ends a callback. Never leaves the callback as an HTTP error. */
export class SsoRefused extends Error {
  override readonly name = 'SsoRefused';

  /** @param detail  for the audit entry; no token, code or secret */
  constructor(
    readonly code: SsoCallbackCode,
    readonly detail?: string,
    options?: ErrorOptions,
  ) {
    super(code, options);
  }
}

/** Another transaction has just created an account with the address; try again. */
export class AddressTaken extends Error {
  override readonly name = 'AddressTaken';
}
