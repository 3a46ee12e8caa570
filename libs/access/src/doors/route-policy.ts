import { DOORS, NARROWING, type Door, type Narrowing } from './doors.js';

/** The rule of one route. */
export interface RoutePolicy extends Narrowing {
  door: Door;
}

type Holder = object;

/** All doors that apply to a route: those of its class and its own. Exactly one is right. */
export function doorsOf(controller: Holder, handler: Holder): Door[] {
  return [...read<Door[]>(DOORS, controller, []), ...read<Door[]>(DOORS, handler, [])];
}

/** What narrows a route; the method's word wins over the class's. */
export function narrowingOf(controller: Holder, handler: Holder): Narrowing {
  return { ...read<Narrowing>(NARROWING, controller, {}), ...read<Narrowing>(NARROWING, handler, {}) };
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
    const doors = doorsOf(controller, handler);
    policy = doors.length === 1 ? { door: doors[0], ...narrowingOf(controller, handler) } : null;
    ofController.set(handler, policy);
  }
  return policy;
}

function read<T>(key: string, holder: Holder, fallback: T): T {
  return (Reflect.getMetadata(key, holder) as T | undefined) ?? fallback;
}
