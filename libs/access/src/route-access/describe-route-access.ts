import { API_KEY_SCHEME, BEARER_SCHEME, type OperationDescriber } from '@rmm/service-kit';
import { policyOf, type RoutePolicy } from './route-access.policy.js';

/**
 * Writes the accepted credentials of an operation to `security` in the OpenAPI document, and the permission, scope or
 * kind of key it requires to `x-required-access`.
 */
export const describeRouteAccess: OperationDescriber = (operation, { controller, handler }) => {
  const policy = policyOf(controller, handler);
  if (policy === null) return;
  operation.security = securityOf(policy);
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
