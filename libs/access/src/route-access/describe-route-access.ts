import {
  addErrorCodes,
  API_KEY_SCHEME,
  BEARER_SCHEME,
  type ErrorCodesByStatus,
  type OperationDescriber,
} from '@rmm/service-kit';
import { policyOf, type RoutePolicy } from './route-access.policy.js';

/**
 * Writes the accepted credentials of an operation to `security` in the OpenAPI document, and the permission, scope or
 * kind of key it requires to `x-required-access`.
 */
export const describeRouteAccess: OperationDescriber = (operation, { controller, handler }) => {
  const policy = policyOf(controller, handler);
  if (policy === null) return;
  operation.security = securityOf(policy);
  for (const codes of errorCodesOf(policy)) addErrorCodes(operation, codes);
  const { access, mfa, scopes, fullPartnerAccess, keysOnly } = policy;
  operation['x-required-access'] = {
    ...access,
    ...(mfa && { mfa: true }),
    ...(scopes && { allowedScopes: scopes }),
    ...(fullPartnerAccess && { fullPartnerAccess: true }),
    ...(keysOnly && { keysOnly: true }),
  };
};

function securityOf({ access, keysOnly }: RoutePolicy): Record<string, string[]>[] {
  switch (access.kind) {
    case 'public':
      return access.optionalBearer ? [{}, { [BEARER_SCHEME]: [] }] : [];
    case 'partner-key':
      return [{ [API_KEY_SCHEME]: [] }];
    case 'api-key':
      return keysOnly || access.scopes.length === 0
        ? [{ [API_KEY_SCHEME]: [] }]
        : [{ [API_KEY_SCHEME]: [] }, { [BEARER_SCHEME]: [] }];
    default:
      return [{ [BEARER_SCHEME]: [] }];
  }
}

/** Codes of any route that acts for a user: of the checks of the session, and of the tenant that a request names. */
const USER_CODES: ErrorCodesByStatus = {
  401: ['unauthenticated'],
  403: [
    'tenant_inactive',
    'partner_inactive',
    'partner_not_found',
    'ip_not_allowed',
    'context_required',
    'organization_access_denied',
    'partner_access_denied',
    'site_access_denied',
    'full_partner_access_required',
    'permission_not_delegable',
  ],
  428: ['mfa_enrollment_required'],
  503: ['ip_check_failed', 'partner_lookup_unavailable'],
};

const NO_API_KEY: ErrorCodesByStatus = { 401: ['api_key_not_accepted_here'] };

function errorCodesOf({ access, mfa, scopes, keysOnly }: RoutePolicy): ErrorCodesByStatus[] {
  const constraints = { 403: [...(mfa ? ['mfa_required'] : []), ...(scopes ? ['scope_not_allowed'] : [])] };
  switch (access.kind) {
    case 'public':
      return access.optionalBearer ? [NO_API_KEY, USER_CODES] : [NO_API_KEY];
    case 'permission':
      return [NO_API_KEY, USER_CODES, constraints, { 403: ['permission_denied'] }];
    case 'signed-in':
      return [NO_API_KEY, USER_CODES, constraints];
    case 'agent-token':
      return [NO_API_KEY, { 401: ['unauthenticated'], 403: ['tenant_inactive'] }];
    case 'partner-key':
      return [PARTNER_KEY_CODES];
    case 'api-key': {
      const keys = { 401: ['invalid_api_key'], 403: ['api_key_scope_required'] };
      return keysOnly ? [keys] : [keys, USER_CODES, constraints, { 403: ['permission_denied'] }];
    }
  }
}

const PARTNER_KEY_CODES: ErrorCodesByStatus = {
  401: ['partner_api_auth_required', 'partner_api_invalid_credentials', 'api_key_not_accepted_here'],
  403: ['partner_api_scope_required', 'organization_access_denied'],
  429: ['partner_api_rate_limited', 'partner_api_auth_rate_limited'],
};
