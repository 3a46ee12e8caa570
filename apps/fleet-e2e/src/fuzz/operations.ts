import type { Schema as ResponseSchema } from '@rmm/testing/openapi';

/** A schema of a request, with the constraints that a generator can use. */
export interface Schema extends ResponseSchema {
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  pattern?: string;
  example?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  schema?: Schema;
}

interface MediaType {
  schema?: Schema;
  example?: unknown;
}

/** A route as the merged OpenAPI document describes it. */
export interface Operation {
  method: string;
  /** With its prefix and parameters: `/api/v1/webhooks/{id}`. */
  path: string;
  operationId: string;
  parameters: Parameter[];
  body?: { contentType: string; schema: Schema; example?: unknown };
  responses: Record<string, { content?: Record<string, MediaType> }>;
  access: { kind: string; keysOnly?: boolean };
  /** Codes of the errors of the route by status. */
  errorCodes: Record<string, string[]>;
}

export interface ApiDocument {
  operations: Operation[];
  schemas: Record<string, Schema>;
}

interface RawOperation extends Pick<Operation, 'operationId' | 'responses'> {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, MediaType> };
  'x-required-access': Operation['access'];
  'x-error-codes'?: Operation['errorCodes'];
}

interface RawDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

/** Reads the merged `/openapi.json` of the fleet. */
export async function readApiDocument(baseUrl: string): Promise<ApiDocument> {
  const { paths, components } = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as RawDocument;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => toOperation(method, path, raw)),
  );
  return { operations, schemas: components.schemas };
}

function toOperation(method: string, path: string, raw: RawOperation): Operation {
  const [body] = Object.entries(raw.requestBody?.content ?? {});
  return {
    method: method.toUpperCase(),
    path,
    operationId: raw.operationId,
    parameters: raw.parameters ?? [],
    body: body && { contentType: body[0], schema: body[1].schema ?? {}, example: body[1].example },
    responses: raw.responses,
    access: raw['x-required-access'],
    errorCodes: raw['x-error-codes'] ?? {},
  };
}
