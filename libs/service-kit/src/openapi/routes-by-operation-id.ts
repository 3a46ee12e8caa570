import type { INestApplication, Type } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { OpenApiRoute } from './openapi-documents.service.js';

interface Routes {
  idOf: (controllerName: string, methodName: string) => string;
  find: (operationId: string | undefined) => OpenApiRoute | undefined;
}

/** Maps operation ids such as `ApiKeys_create` to their route handlers. */
export function routesByOperationId(app: INestApplication): Routes {
  const routes = new Map<string, OpenApiRoute>();
  for (const module of app.get(ModulesContainer).values()) {
    for (const { metatype } of module.controllers.values()) {
      if (typeof metatype !== 'function') continue;
      const controller = metatype as Type;
      for (const [name, handler] of methodsOf(controller))
        routes.set(idOf(controller.name, name), { controller, handler });
    }
  }
  return { idOf, find: (operationId) => (operationId === undefined ? undefined : routes.get(operationId)) };
}

const idOf = (controllerName: string, methodName: string) =>
  `${controllerName.replace(/Controller$/, '')}_${methodName}`;

/** Returns the methods of a controller, then those of the classes it extends. */
function methodsOf(controller: Type): Map<string, OpenApiRoute['handler']> {
  const methods = new Map<string, OpenApiRoute['handler']>();
  let prototype = controller.prototype as object | null;
  while (prototype && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (typeof value === 'function' && !methods.has(name)) methods.set(name, value as OpenApiRoute['handler']);
    }
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return methods;
}
