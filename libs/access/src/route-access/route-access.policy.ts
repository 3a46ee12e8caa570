import { ROUTE_ACCESS, ROUTE_CONSTRAINTS, type RouteAccess, type RouteConstraints } from './route-access.decorator.js';

/** The rule of one route. */
export interface RoutePolicy extends RouteConstraints {
  door: RouteAccess;
}

type Holder = object;

/** All doors that apply to a route: those of its class and its own. Exactly one is right. */
export function routeAccessOf(controller: Holder, handler: Holder): RouteAccess[] {
  return [...read<RouteAccess[]>(ROUTE_ACCESS, controller, []), ...read<RouteAccess[]>(ROUTE_ACCESS, handler, [])];
}

/** What narrows a route; the method's word wins over the class's. */
export function routeConstraintsOf(controller: Holder, handler: Holder): RouteConstraints {
  return {
    ...read<RouteConstraints>(ROUTE_CONSTRAINTS, controller, {}),
    ...read<RouteConstraints>(ROUTE_CONSTRAINTS, handler, {}),
  };
}

const known = new WeakMap<Holder, WeakMap<Holder, RoutePolicy | null>>();

/**
 * The policy of a route, worked out once.
 * @returns null for a route without exactly one door: it stays closed
 */
export function policyOf(controller: Holder, handler: Holder): RoutePolicy | null {
  let ofController = known.get(controller);
  if (!ofController) known.set(controller, (ofController = new WeakMap()));
  let policy = ofController.get(handler);
  if (policy === undefined) {
    const doors = routeAccessOf(controller, handler);
    policy = doors.length === 1 ? { door: doors[0], ...routeConstraintsOf(controller, handler) } : null;
    ofController.set(handler, policy);
  }
  return policy;
}

function read<T>(key: string, holder: Holder, fallback: T): T {
  return (Reflect.getMetadata(key, holder) as T | undefined) ?? fallback;
}
