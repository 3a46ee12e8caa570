import 'reflect-metadata';
import {
  addErrorCodes,
  addResponseHeader,
  API_KEY_SCHEME,
  BEARER_SCHEME,
  type ErrorCodesByStatus,
  type HeaderName,
  type OpenApiOperation,
  type OperationDescriber,
} from '@rmm/service-kit';
import { IdempotencyInterceptor } from '../idempotency/idempotency.interceptor.js';
import type { RouteAccess } from './route-access.decorator.js';
import { policyOf, type RoutePolicy } from './route-access.policy.js';

/** Nest stores the interceptors of a route as metadata of its handler. */
const INTERCEPTORS_METADATA = '__interceptors__';
const RATE_HEADERS = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/**
 * Writes the accepted credentials of an operation to `security` in the OpenAPI document, the permission, scope or kind
 * of key it requires to `x-required-access` and to its description, and the headers of keys and of idempotent routes.
 */
export const describeRouteAccess: OperationDescriber = (operation, { controller, handler }) => {
  const policy = policyOf(controller, handler);
  if (policy === null) return;
  operation.security = securityOf(policy);
  for (const codes of errorCodesOf(policy)) addErrorCodes(operation, codes);
  const { access, mfa, scopes, fullPartnerAccess, keysOnly, uncharged } = policy;
  operation['x-required-access'] = {
    ...access,
    ...(mfa && { mfa: true }),
    ...(scopes && { allowedScopes: scopes }),
    ...(fullPartnerAccess && { fullPartnerAccess: true }),
    ...(keysOnly && { keysOnly: true }),
    ...(uncharged && { uncharged: true }),
  };
  operation.description = [operation.description, requirementOf(policy)].filter(Boolean).join('\n\n');
  if (access.kind === 'api-key' || access.kind === 'partner-key') addSuccessHeaders(operation, RATE_HEADERS);
  if (isIdempotent(handler)) describeIdempotency(operation);
};

/** Returns a sentence about the credential and the rights that a route requires. */
function requirementOf({ access, mfa, scopes, fullPartnerAccess, keysOnly }: RoutePolicy): string {
  const conditions = [
    credentialOf(access, keysOnly),
    ...(mfa ? ['a second factor in the session'] : []),
    ...(scopes ? [`a session of the scope ${listOf(scopes, 'or')}`] : []),
    ...(fullPartnerAccess ? ['access to all organizations of the partner'] : []),
  ];
  if (access.kind === 'public' && conditions.length === 1) return `${conditions[0]}.`;
  return `Requires ${conditions.join(', and ')}.`;
}

function credentialOf(access: RouteAccess, keysOnly?: boolean): string {
  switch (access.kind) {
    case 'public':
      return access.optionalBearer ? 'Works without a credential, and with a session' : 'Needs no credential';
    case 'signed-in':
      return 'a session';
    case 'permission':
      return `a session with the permission ${listOf(access.permissions, 'and')}`;
    case 'api-key': {
      if (access.scopes.length === 0) return 'an API key';
      const key = `an API key with the scope ${listOf(access.scopes, 'or')}`;
      return keysOnly ? key : `${key}, or a session with the permission of that name`;
    }
    case 'partner-key':
      return `a partner key with the scope ${listOf(access.scopes, 'and')}`;
    case 'agent-token':
      return 'the token of an agent';
    case 'scim-token':
      return 'the token of a SCIM client';
  }
}

const listOf = (words: readonly string[], conjunction: 'and' | 'or'): string =>
  words.map((word) => `\`${word}\``).join(` ${conjunction} `);

function addSuccessHeaders(operation: OpenApiOperation, names: readonly HeaderName[]): void {
  for (const status of Object.keys(operation.responses).filter((each) => each.startsWith('2'))) {
    for (const name of names) addResponseHeader(operation, status, name);
  }
}

function isIdempotent(handler: object): boolean {
  const interceptors = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) ?? []) as unknown[];
  return interceptors.includes(IdempotencyInterceptor);
}

function describeIdempotency(operation: OpenApiOperation): void {
  const parameters = (operation.parameters ??= []);
  const isDescribed = parameters.some((parameter) => 'name' in parameter && parameter.name === IDEMPOTENCY_KEY);
  if (!isDescribed) parameters.push(idempotencyParameter());
  addSuccessHeaders(operation, ['Idempotency-Replayed']);
}

const IDEMPOTENCY_KEY = 'Idempotency-Key';

function idempotencyParameter() {
  return {
    name: IDEMPOTENCY_KEY,
    in: 'header' as const,
    required: false,
    description: 'A repeated request with the same key has no further effect and gets the first response',
    schema: { type: 'string' as const, minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  };
}

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
    case 'scim-token':
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
