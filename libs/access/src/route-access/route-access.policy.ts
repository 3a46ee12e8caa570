import { ROUTE_ACCESS, ROUTE_CONSTRAINTS, type RouteAccess, type RouteConstraints } from './route-access.decorator.js';

/** Access and constraints of one route. */
export interface RoutePolicy extends RouteConstraints {
  access: RouteAccess;
}

/** Returns every access decorator that applies to a route: those of its class and its own. Exactly one is valid. */
export function routeAccessOf(controller: object, handler: object): RouteAccess[] {
  return [...read<RouteAccess[]>(ROUTE_ACCESS, controller, []), ...read<RouteAccess[]>(ROUTE_ACCESS, handler, [])];
}

function routeConstraintsOf(controller: object, handler: object): RouteConstraints {
  return {
    ...read<RouteConstraints>(ROUTE_CONSTRAINTS, controller, {}),
    ...read<RouteConstraints>(ROUTE_CONSTRAINTS, handler, {}),
  };
}

const policies = new WeakMap<object, WeakMap<object, RoutePolicy | null>>();

/**
 * Returns the policy of a route; computed once. Constraints of the method override those of the class.
 * @returns null for a route without exactly one access decorator, which must be denied
 */
export function policyOf(controller: object, handler: object): RoutePolicy | null {
  let ofController = policies.get(controller);
  if (!ofController) policies.set(controller, (ofController = new WeakMap()));
  let policy = ofController.get(handler);
  if (policy === undefined) {
    const found = routeAccessOf(controller, handler);
    policy = found.length === 1 ? { access: found[0], ...routeConstraintsOf(controller, handler) } : null;
    ofController.set(handler, policy);
  }
  return policy;
}

function read<T>(key: string, target: object, fallback: T): T {
  return (Reflect.getMetadata(key, target) as T | undefined) ?? fallback;
}
