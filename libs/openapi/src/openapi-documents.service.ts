import { type INestApplication, Injectable, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { API_PREFIX } from '@rmm/contracts';
import { describeDeprecation } from './deprecated.decorator.js';
import { describeEntityTags } from './entity-tags.decorator.js';
import { ERROR_BODY_SCHEMA, ERROR_RESPONSE } from './error-body.schema.js';
import { addErrorCodes, errorCodesOf, pipelineErrorCodes } from './error-codes.decorator.js';
import { declareErrorResponses } from './error-responses.js';
import { addExamples, type OperationExamples } from './operation-examples.js';
import { headerComponents } from './response-headers.js';

export type OpenApiOperation = NonNullable<OpenAPIObject['paths'][string]['get']> & Record<`x-${string}`, unknown>;

/** The route of an operation. */
export interface OpenApiRoute {
  controller: Type;
  handler: (...args: never[]) => unknown;
}

/** Completes an operation from another lib: the access lib adds security and `x-required-access`. */
export type OperationDescriber = (operation: OpenApiOperation, route: OpenApiRoute) => void;

export interface OpenApiInfo {
  title: string;
  description: string;
  /** The groups of operations. */
  tags?: readonly { name: string; description: string }[];
  /** Recorded calls; read when the document is built. */
  examples?: () => OperationExamples;
}

/** Names of the security schemes a describer may refer to. */
export const BEARER_SCHEME = 'bearer';
export const API_KEY_SCHEME = 'apiKey';

/** Returns contact and license of a document. */
export const apiOwner = (serverUrl: string) => ({
  contact: { name: 'API support', url: `${serverUrl.replace(/\/+$/, '')}/docs` },
  license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
});

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;

/** The OpenAPI document of this service: built on first request, since no service needs it to start. */
@Injectable()
export class OpenApiDocuments {
  private readonly describers: OperationDescriber[] = [];
  private built?: OpenAPIObject;
  private source?: { app: INestApplication; info: OpenApiInfo; serverUrl: string };

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  /** Register before the first request; describers run once for each operation. */
  describeOperations(describer: OperationDescriber): void {
    this.describers.push(describer);
  }

  /** Called once by `configureApp`. */
  from(app: INestApplication, info: OpenApiInfo, serverUrl: string): void {
    this.source = { app, info, serverUrl };
    this.built = undefined;
  }

  /** @throws Error  before the application is configured */
  own(): OpenAPIObject {
    if (this.source === undefined) throw new Error('There is no OpenAPI document before the application is configured');
    this.built ??= this.build(this.source);
    return this.built;
  }

  private build({ app, info, serverUrl }: NonNullable<typeof this.source>): OpenAPIObject {
    const base = new DocumentBuilder()
      .setTitle(info.title)
      .setDescription(info.description)
      .setVersion('1')
      .setOpenAPIVersion('3.1.0')
      .addServer(serverUrl)
      .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, BEARER_SCHEME)
      .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key' }, API_KEY_SCHEME)
      .build();
    Object.assign(base.info, apiOwner(serverUrl));
    base.tags = [...(info.tags ?? [])];
    const examples = info.examples?.() ?? {};
    const routes = this.routesById();
    const document = SwaggerModule.createDocument(app, base, { operationIdFactory: idOf });
    (document.components ??= {}).schemas = { ErrorBody: ERROR_BODY_SCHEMA, ...document.components.schemas };
    document.components.headers = headerComponents();
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const method of METHODS) {
        const operation = methods[method] as OpenApiOperation | undefined;
        if (operation === undefined) continue;
        operation.responses['default'] ??= ERROR_RESPONSE;
        const route = routes.get(operation.operationId);
        addErrorCodes(operation, pipelineErrorCodes(method, operation));
        if (route) {
          addErrorCodes(operation, errorCodesOf(route.controller));
          addErrorCodes(operation, errorCodesOf(route.handler));
          for (const describe of this.describers) describe(operation, route);
          describeEntityTags(operation, method, route.handler);
        }
        declareErrorResponses(document, operation);
        if (route) describeDeprecation(operation, route.handler);
        addExamples(operation, method, examples[`${method} ${path.replace(API_PREFIX, '')}`] ?? []);
      }
    }
    return document;
  }

  private routesById(): Map<string | undefined, OpenApiRoute> {
    const routes = new Map<string | undefined, OpenApiRoute>();
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type<Record<string, OpenApiRoute['handler']>>;
      const { prototype } = controller as { prototype: Record<string, OpenApiRoute['handler']> };
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        routes.set(idOf(controller.name, name), { controller, handler: prototype[name] });
      }
    }
    return routes;
  }
}

/** Returns `ApiKeys_create` for the method `create` of `ApiKeysController`. */
function idOf(controller: string, method: string): string {
  return `${controller.replace(/Controller$/, '')}_${method}`;
}
