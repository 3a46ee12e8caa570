import {
  BadRequestError,
  ForbiddenError,
  PreconditionRequiredError,
  RateLimitedError,
  UnauthenticatedError,
  UnavailableError,
} from '@rmm/service-kit';

/** 401 `unauthenticated`: the same response for every invalid user or agent token. */
export class InvalidAccessToken extends UnauthenticatedError {}

/** 401, decided without a look-up. */
export class ApiKeyNotAcceptedHere extends UnauthenticatedError {
  override code = 'api_key_not_accepted_here';
  override error = 'API keys are not accepted here';

  constructor() {
    super(undefined, {
      message: 'API keys are accepted only on POST /mcp/*, POST /dev/push and GET or PATCH /devices/:id/custom-fields.',
    });
  }
}

/** 401: the same response for every invalid API key. */
export class InvalidApiKey extends UnauthenticatedError {
  override code = 'invalid_api_key';
  override error = 'Invalid API key';
}

export class PartnerKeyRequired extends UnauthenticatedError {
  override code = 'partner_api_auth_required';
  override error = 'Partner API key required';
}

/** 401: the same response for every invalid partner key. */
export class InvalidPartnerKey extends UnauthenticatedError {
  override code = 'partner_api_invalid_credentials';
  override error = 'Invalid partner API credentials';
}

export class PermissionDenied extends ForbiddenError {
  override code = 'permission_denied';
  override error = 'Permission denied';

  constructor(required: readonly string[]) {
    super(undefined, { extras: { required: [...required] } });
  }
}

export class ScopeNotAllowed extends ForbiddenError {
  override code = 'scope_not_allowed';
  override error = 'Not available in this scope';
}

export class MfaRequired extends ForbiddenError {
  override code = 'mfa_required';
  override error = 'MFA required';
}

export class FullPartnerAccessRequired extends ForbiddenError {
  override code = 'full_partner_access_required';
  override error = 'Full partner organization access required';
}

export class ApiKeyScopeRequired extends ForbiddenError {
  override code = 'api_key_scope_required';
  override error = 'API key does not have required permissions';

  constructor(required: readonly string[]) {
    super(undefined, { extras: { required: [...required] } });
  }
}

export class PartnerScopeRequired extends ForbiddenError {
  override code = 'partner_api_scope_required';
  override error = 'Partner API key does not have the required scope';

  constructor(required: readonly string[]) {
    super(undefined, { extras: { required: [...required] } });
  }
}

export class WildcardScopeUnsupported extends BadRequestError {
  override code = 'wildcard_scope_unsupported';
  override error = 'wildcard API key scopes are unsupported';
}

export class UnsupportedScope extends BadRequestError {
  override code = 'unsupported_scope';
  override error = 'Unsupported scope';
}

export class PermissionNotDelegable extends ForbiddenError {
  override code = 'permission_not_delegable';
  override error = 'You can only grant permissions that you have';
}

export class OrganizationAccessDenied extends ForbiddenError {
  override code = 'organization_access_denied';
  override error = 'Access to this organization denied';
}

/** 403: a request names an unknown partner, or one that the caller may not access. */
export class PartnerAccessDenied extends ForbiddenError {
  override code = 'partner_access_denied';
  override error = 'Access to this partner denied';
}

export class SiteAccessDenied extends ForbiddenError {
  override code = 'site_access_denied';
  override error = 'Access to this site denied';
}

export class TenantInactive extends ForbiddenError {
  override code = 'tenant_inactive';
  override error = 'Tenant is not active';
}

/** 503: the status of an organization cannot be read. */
export class PartnerLookupUnavailable extends UnavailableError {
  override code = 'partner_lookup_unavailable';
}

export class PartnerNotFound extends ForbiddenError {
  override code = 'partner_not_found';
  override error = 'Tenant is not active';
}

export class PartnerInactive extends ForbiddenError {
  override code = 'partner_inactive';
  override error = 'Tenant is not active';

  constructor(extras: { status: string; actionUrl: string; actionLabel: string }) {
    super(undefined, { extras });
  }
}

/** 403: the address list of the tenant does not contain the address of the request. */
export class IpNotAllowed extends ForbiddenError {
  override code = 'ip_not_allowed';
  override error = 'Address not allowed';
}

export class IpCheckFailed extends UnavailableError {
  override code = 'ip_check_failed';
}

/** 428: the user must enroll a second factor before any other request. */
export class MfaEnrollmentRequired extends PreconditionRequiredError {
  override code = 'mfa_enrollment_required';
  override error = 'mfa_enrollment_required';

  constructor(allowedMethods: readonly string[]) {
    super(undefined, { extras: { enrollUrl: '/auth/mfa/setup', allowedMethods: [...allowedMethods] } });
  }
}

export class KeyRateLimited extends RateLimitedError {
  constructor(
    override code: 'rate_limited' | 'partner_api_rate_limited' | 'partner_api_auth_rate_limited',
    retryAfterSeconds: number,
  ) {
    super(undefined, { retryAfterSeconds });
  }
}
