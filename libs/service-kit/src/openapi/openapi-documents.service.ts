import { type INestApplication, Injectable, type Type } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { API_PREFIX } from '../http/path-rules.js';
import { addErrors, ERROR_BODY_SCHEMA } from './error-schema.js';
import { addExamples, type OperationExamples } from './operation-examples.js';
import { routesByOperationId } from './routes-by-operation-id.js';

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
  /** Recorded calls; read when the document is built. */
  examples?: () => OperationExamples;
}

/** Names of the security schemes a describer may refer to. */
export const BEARER_SCHEME = 'bearer';
export const API_KEY_SCHEME = 'apiKey';

/** The OpenAPI document of this service: built on first request, since no service needs it to start. */
@Injectable()
export class OpenApiDocuments {
  private readonly describers: OperationDescriber[] = [];
  private built?: OpenAPIObject;
  private source?: { app: INestApplication; info: OpenApiInfo; serverUrl: string };

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
    const examples = info.examples?.() ?? {};
    const routes = routesByOperationId(app);
    const document = SwaggerModule.createDocument(app, base, { operationIdFactory: routes.idOf });
    document.components = {
      ...document.components,
      schemas: { ErrorBody: ERROR_BODY_SCHEMA, ...document.components?.schemas },
    };
    for (const { operation, method, path } of operationsOf(document)) {
      addErrors(operation);
      addExamples(operation, method, examples[`${method} ${path}`] ?? []);
      const route = routes.find(operation.operationId);
      if (route) for (const describe of this.describers) describe(operation, route);
    }
    return document;
  }
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'] as const;

interface NamedOperation {
  operation: OpenApiOperation;
  method: string;
  /** Below /api/v1: `/users/{id}`. */
  path: string;
}

function operationsOf(document: OpenAPIObject): NamedOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    METHODS.flatMap((method) => {
      const operation = methods[method] as OpenApiOperation | undefined;
      return operation ? [{ operation, method, path: path.replace(API_PREFIX, '') }] : [];
    }),
  );
}
