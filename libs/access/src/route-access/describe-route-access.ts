import { API_KEY_SCHEME, BEARER_SCHEME, type OperationDescriber } from '@rmm/service-kit';
import { policyOf, type RoutePolicy } from './route-access.policy.js';

/** Writes into each operation of the OpenAPI document which credential it takes, and as `x-required-access` what that must hold. */
export const describeRouteAccess: OperationDescriber = (operation, { controller, handler }) => {
  const policy = policyOf(controller, handler);
  if (policy === null) return;
  operation.security = securityOf(policy);
  const { door, mfa, scopes, fullPartnerAccess, keysOnly } = policy;
  operation['x-required-access'] = {
    ...door,
    ...(mfa && { mfa: true }),
    ...(scopes && { allowedScopes: scopes }),
    ...(fullPartnerAccess && { fullPartnerAccess: true }),
    ...(keysOnly && { keysOnly: true }),
  };
};

function securityOf({ door, keysOnly }: RoutePolicy): Record<string, string[]>[] {
  switch (door.kind) {
    case 'public':
      return [];
    case 'partner-key':
      return [{ [API_KEY_SCHEME]: [] }];
    case 'api-key':
      return keysOnly || door.scopes.length === 0
        ? [{ [API_KEY_SCHEME]: [] }]
        : [{ [API_KEY_SCHEME]: [] }, { [BEARER_SCHEME]: [] }];
    default:
      return [{ [BEARER_SCHEME]: [] }];
  }
}
