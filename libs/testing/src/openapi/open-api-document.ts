import { type RecordedCall, type RecordedExample } from './recorded-examples.js';
import { schemaMismatches, type Schema, type Schemas } from './schema-mismatches.js';

interface Operation {
  /** `post /auth/login` */
  name: string;
  summary?: string;
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

interface Document {
  paths: Record<string, Record<string, Omit<Operation, 'name'>>>;
  components: { schemas: Schemas };
}

const BODILESS = ['204', '302', '304', '410'];

/** Compares the `/openapi.json` of a service with its actual responses. */
export class OpenApiDocument {
  private readonly operations: Operation[];
  private readonly schemas: Schemas;

  /** @param document  the body of `/openapi.json` */
  constructor({ paths, components }: Document) {
    this.schemas = components.schemas;
    this.operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        name: `${method} ${path.replace('/api/v1', '')}`,
      })),
    );
  }

  get names(): string[] {
    return this.operations.map(({ name }) => name);
  }

  /** The operations that do not always respond with 410. */
  get offered(): string[] {
    const succeeds = (status: string) => /^[23]/.test(status);
    return this.operations
      .filter(({ responses }) => Object.keys(responses).some(succeeds) || !('410' in responses))
      .map(({ name }) => name);
  }

  /** Lists operations without a summary. */
  withoutSummary(): string[] {
    return this.operations.filter(({ summary }) => !summary?.trim()).map(({ name }) => name);
  }

  /** Lists operations that have a successful response with a body but no schema. */
  withoutSchema(): string[] {
    const bare = this.operations.filter((operation) => {
      const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
      const successes = statuses.filter((status) => status.startsWith('2') && status !== '204');
      if (successes.length === 0) return !statuses.some((status) => BODILESS.includes(status));
      return !successes.every((status) => mediaTypesOf(operation, status).length > 0);
    });
    return bare.map(({ name }) => name);
  }

  /** Returns the operation of a call; method and path when there is none. */
  readonly operationOf = ({ method, path }: Pick<RecordedCall, 'method' | 'path'>): string => {
    const called = `${method} ${path.replace(/\?.*/, '')}`;
    if (this.names.includes(called)) return called;
    return this.names.find((name) => patternOf(name).test(called)) ?? called;
  };

  /** Lists successful responses whose status, type or body the document does not describe, each once. */
  contradictions(calls: readonly RecordedCall[]): string[] {
    return [...new Set(calls.flatMap((call) => this.contradictionsOf(call)))];
  }

  /** Lists offered operations that none of the calls completed with success. */
  notCalled(calls: readonly RecordedCall[]): string[] {
    const called = new Set(calls.filter(({ status }) => status < 400).map(this.operationOf));
    return this.offered.filter((name) => !called.has(name));
  }

  /** Lists where recorded responses no longer match their schemas. */
  exampleMismatches(examples: Readonly<Record<string, readonly RecordedExample[]>>): string[] {
    return this.operations.flatMap((operation) =>
      (examples[operation.name] ?? []).flatMap(({ status, response }) => {
        const schema = schemaOf(operation, status);
        return schema && response !== undefined ? schemaMismatches(schema, response, this.schemas) : [];
      }),
    );
  }

  private contradictionsOf(call: RecordedCall): string[] {
    const { status, headers, body } = call;
    if (status >= 400) return [];
    const name = this.operationOf(call);
    const operation = this.operations.find((candidate) => candidate.name === name);
    // Without a body.
    if (operation && [204, 302, 304].includes(status) && String(status) in operation.responses) return [];
    const mediaType = headers['content-type']?.split(';')[0] ?? '';
    if (!operation || !mediaTypesOf(operation, status).includes(mediaType)) {
      return [`${name}: ${status} ${mediaType} is not described`];
    }
    const schema = schemaOf(operation, status);
    if (!isJson(mediaType) || !schema) return [];
    return schemaMismatches(schema, body, this.schemas).map((text) => `${name}: ${text}`);
  }
}

const patternOf = (name: string) => new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]+')}$`);

const isJson = (mediaType: string): boolean => /^application\/(?:scim\+)?json$/.test(mediaType);

const schemaOf = ({ responses }: Operation, status: number | string) =>
  Object.entries(responses[status]?.content ?? {}).find(([mediaType]) => isJson(mediaType))?.[1].schema;

/** Returns the media types of a response; bytes and streams have no schema of ours. */
const mediaTypesOf = ({ responses }: Operation, status: number | string) =>
  Object.keys(responses[status]?.content ?? {});
