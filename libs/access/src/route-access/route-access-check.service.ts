import { Injectable, type OnModuleInit, type Type } from '@nestjs/common';
import { MetadataScanner, ModulesContainer } from '@nestjs/core';
import { OpenApiDocuments } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import { VerificationKeysService } from '../tokens/verification-keys.service.js';
import { describeRouteAccess } from './describe-route-access.js';
import type { RouteAccess } from './route-access.decorator.js';
import { RouteAccessMissing } from './route-access.errors.js';
import { policyOf, routeAccessOf } from './route-access.policy.js';

interface Route {
  /** `SitesController.create` */
  name: string;
  controller: Type;
  handler: object;
  found: RouteAccess[];
}

/** Nest stores path and method of a route as metadata of its handler. */
const PATH_METADATA = 'path';
const METHOD_METADATA = 'method';

/** Checks at start that every route declares its access, and adds it to the OpenAPI document. */
@Injectable()
export class RouteAccessCheck implements OnModuleInit {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly sources: AccessSources,
    private readonly keys: VerificationKeysService,
    private readonly openApi: OpenApiDocuments,
  ) {}

  /** @throws RouteAccessMissing  naming every such route */
  onModuleInit(): void {
    const routes = routesOf(this.modules);
    const kinds = new Set(routes.flatMap(({ found }) => found.map(({ kind }) => kind)));
    const problems = routeAccessProblems(routes);
    if ((kinds.has('permission') || kinds.has('signed-in')) && !this.keys.areAvailable) {
      problems.push('Routes for users exist, but there are no public keys: set jwksUrl or provide VERIFICATION_KEYS');
    }
    if (kinds.has('agent-token') && !this.sources.agents) {
      problems.push('Routes for agents exist, but no AGENT_SOURCE is provided');
    }
    if (kinds.has('scim-token') && !this.sources.scimTokens) {
      problems.push('Routes for SCIM clients exist, but no SCIM_TOKEN_SOURCE is provided');
    }
    if (problems.length > 0) throw new RouteAccessMissing(problems);
    this.openApi.describeOperations(describeRouteAccess);
  }
}

/** Lists every HTTP route of the application. */
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
      .map(({ name, handler }) => ({ name, controller, handler, found: routeAccessOf(controller, handler) }));
  });
}

/** Returns one line for each route without exactly one access decorator, or with a constraint that does not apply. */
export function routeAccessProblems(routes: readonly Route[]): string[] {
  return routes.flatMap(({ name, controller, handler, found }) => {
    if (found.length === 0) return [`${name} has no access decorator`];
    if (found.length > 1) {
      return [`${name} has ${found.length} access decorators: ${found.map(({ kind }) => kind).join(', ')}`];
    }
    const [{ kind }] = found;
    const { mfa, scopes, fullPartnerAccess, keysOnly, uncharged } = policyOf(controller, handler) ?? {};
    if (keysOnly && kind !== 'api-key') return [`${name} has @KeysOnly, which does not apply to ${kind} routes`];
    if (uncharged && kind !== 'partner-key') {
      return [`${name} has @Uncharged, which does not apply to ${kind} routes`];
    }
    const acceptsUsers = ['permission', 'signed-in', 'api-key'].includes(kind);
    const constrainsUsers = mfa || scopes || fullPartnerAccess;
    return constrainsUsers && !acceptsUsers
      ? [`${name} has a constraint for users, which does not apply to ${kind} routes`]
      : [];
  });
}

function isRoute(handler: unknown): boolean {
  return (
    typeof handler === 'function' &&
    Reflect.hasMetadata(PATH_METADATA, handler) &&
    Reflect.hasMetadata(METHOD_METADATA, handler)
  );
}
