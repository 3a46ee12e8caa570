/** Groups of routes with an objective of their own for availability and latency. */
export type RouteClass = 'agent' | 'bulk' | 'none' | 'partner' | 'read' | 'sign_in' | 'write';

const BY_PREFIX: readonly [RegExp, RouteClass][] = [
  [/^\/api\/v1\/(?:auth|sso)(?:\/|$)/, 'sign_in'],
  [/^\/api\/v1\/agents(?:\/|$)/, 'agent'],
  [/^\/api\/v1\/(?:partner-api|mcp|scim)(?:\/|$)/, 'partner'],
];

/**
 * Returns the class of a route.
 * @param route  the pattern of the route; undefined when none matched
 * @param isBulk  true for a route that may take longer than others
 */
export function routeClassOf(method: string, route: string | undefined, isBulk: boolean): RouteClass {
  if (route === undefined) return 'none';
  if (isBulk) return 'bulk';
  const found = BY_PREFIX.find(([prefix]) => prefix.test(route));
  if (found) return found[1];
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write';
}
