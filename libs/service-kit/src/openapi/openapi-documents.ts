import { type INestApplication, Injectable, type Type } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

export type OpenApiOperation = Record<string, unknown> & { security?: Record<string, string[]>[] };

/** The route an operation was made from. */
export interface OpenApiRoute {
  controller: Type;
  handler: (...args: never[]) => unknown;
}

/** Adds to an operation what only its owner knows: the access lib its security and `x-door`. */
export type OperationDescriber = (operation: OpenApiOperation, route: OpenApiRoute) => void;

export interface OpenApiInfo {
  title: string;
  description: string;
}

/** The OpenAPI document of this service: built on first request, since no service needs it to start. */
@Injectable()
export class OpenApiDocuments {
  private readonly describers: OperationDescriber[] = [];
  private built?: OpenAPIObject;
  private source?: { app: INestApplication; info: OpenApiInfo };

  /** Register before the first request; describers run once for each operation. */
  describeOperations(describer: OperationDescriber): void {
    this.describers.push(describer);
  }

  /** Called once by `startService`. */
  from(app: INestApplication, info: OpenApiInfo): void {
    this.source = { app, info };
    this.built = undefined;
  }

  /** @throws Error  before `startService` has named the application */
  own(): OpenAPIObject {
    if (this.source === undefined) throw new Error('The OpenAPI document is not there before the service has started');
    this.built ??= this.build(this.source.app, this.source.info);
    return this.built;
  }

  private build(app: INestApplication, info: OpenApiInfo): OpenAPIObject {
    const base = new DocumentBuilder().setTitle(info.title).setDescription(info.description).setVersion('1').build();
    return SwaggerModule.createDocument(app, base);
  }
}
