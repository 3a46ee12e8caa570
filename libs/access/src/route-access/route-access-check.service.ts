import type { Type } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { routeAccessOf, policyOf } from './route-access.policy.js';
import type { RouteAccess } from './route-access.decorator.js';

interface Route {
  /** `SitesController.create` */
  name: string;
  controller: Type;
  handler: object;
  doors: RouteAccess[];
}

/** Nest marks a route's handler with its path. */
const PATH_METADATA = 'path';
const METHOD_METADATA = 'method';

/** Every HTTP route of the application. */
export function routesOf(modules: ModulesContainer): Route[] {
  const scanner = new MetadataScanner();
  const controllers = new Set([...modules.values()].flatMap((module) => [...module.controllers.values()]));
  return [...controllers].flatMap(({ metatype }) => {
    const controller = metatype as Type | null;
    if (!controller) return [];
    const prototype = controller.prototype as Record<string, object>;
    return scanner
      .getAllMethodNames(prototype)
      .map((name) => ({ name: `${controller.name}.${name}`, handler: prototype[name] }))
      .filter(({ handler }) => isRoute(handler))
      .map(({ name, handler }) => ({ name, controller, handler, doors: routeAccessOf(controller, handler) }));
  });
}

/** One line for each route without exactly one door, or whose door narrows what it does not look at. */
export function routeAccessProblems(routes: readonly Route[]): string[] {
  return routes.flatMap(({ name, controller, handler, doors }) => {
    if (doors.length === 0) return [`${name} has no door`];
    if (doors.length > 1) return [`${name} has ${doors.length} doors: ${doors.map(({ kind }) => kind).join(', ')}`];
    const { mfa, scopes, fullPartnerAccess, keysOnly } = policyOf(controller, handler) ?? {};
    if (keysOnly && doors[0].kind !== 'api-key') return [`${name} is for keys only, but its door is ${doors[0].kind}`];
    const forUsers = ['permission', 'signed-in', 'api-key'].includes(doors[0].kind);
    const narrowed = mfa || scopes || fullPartnerAccess;
    return narrowed && !forUsers ? [`${name} narrows a door for users, but its door is ${doors[0].kind}`] : [];
  });
}

function isRoute(handler: unknown): boolean {
  return (
    typeof handler === 'function' &&
    Reflect.hasMetadata(PATH_METADATA, handler) &&
    Reflect.hasMetadata(METHOD_METADATA, handler)
  );
}
