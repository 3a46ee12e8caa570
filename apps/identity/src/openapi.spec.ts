import { writeFileSync } from 'node:fs';
import supertest from 'supertest';
import { IdentityFleet, type RunningIdentity } from '../test/identity-fleet.js';
import { examplesOf, type RecordedCall } from '../test/recorded-examples.js';
import { schemaMismatches, type Schema, type Schemas } from '../test/schema-mismatches.js';
import { VISITS } from '../test/visits/visits.js';
import { EXAMPLES_FILE, readExamples } from './openapi-examples.js';

interface Operation {
  name: string;
  summary?: string;
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>;
}

describe('the OpenAPI document of identity', () => {
  let fleet: IdentityFleet;
  let identity: RunningIdentity;
  let operations: Operation[];
  let schemas: Schemas;

  beforeAll(async () => {
    fleet = await IdentityFleet.start();
    identity = await fleet.run();
    const { body } = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    schemas = body.components.schemas as Schemas;
    operations = Object.entries(body.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        name: `${method} ${path.replace('/api/v1', '')}`,
      })),
    );
  }, 120_000);
  afterAll(() => fleet.stop());

  const schemaOf = ({ responses }: Operation, status: number | string) =>
    responses[status]?.content?.['application/json']?.schema;
  /** The media types an answer may have; bytes and streams have no schema of ours. */
  const mediaTypesOf = ({ responses }: Operation, status: number | string) =>
    Object.keys(responses[status]?.content ?? {});

  it('says in a line what each operation is for', () => {
    expect(operations.length).toBeGreaterThan(50);
    expect(operations.filter(({ summary }) => !summary?.trim()).map(({ name }) => name)).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    const bare = operations.filter((operation) => {
      const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
      const bodiless = statuses.filter((status) => ['204', '302', '304', '410'].includes(status));
      const successes = statuses.filter((status) => status.startsWith('2') && status !== '204');
      if (successes.length === 0) return bodiless.length === 0;
      return !successes.every((status) => mediaTypesOf(operation, status).length > 0);
    });
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  it('says what is truly answered, status and body', async () => {
    const calls: RecordedCall[] = [];
    const call = identity.call.bind(identity);
    jest.spyOn(identity, 'call').mockImplementation(async (method, path, body, options) => {
      const answer = await call(method, path, body, options);
      calls.push({ operation: nameOf(method, path), path, body, options, answer });
      return answer;
    });
    const nameOf = (method: string, path: string) => {
      const called = `${method} ${path.replace(/\?.*/, '')}`;
      const literal = operations.find(({ name }) => name === called);
      return (literal ?? operations.find(({ name }) => pattern(name).test(called)))?.name ?? called;
    };
    const pattern = (name: string) => new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]+')}$`);

    for (const visit of VISITS) await visit(identity);

    const wrong = calls.flatMap(({ operation: name, answer: { status, body, headers } }) => {
      if (status >= 400) return [];
      const operation = operations.find((candidate) => candidate.name === name);
      const described = operation ? mediaTypesOf(operation, status) : [];
      const mediaType = headers['content-type']?.split(';')[0] ?? '';
      if (operation && status === 304 && '304' in operation.responses) return [];
      if (!operation || !described.includes(mediaType)) return [`${name}: ${status} ${mediaType} is not described`];
      const schema = schemaOf(operation, status);
      return mediaType === 'application/json' && schema
        ? schemaMismatches(schema, body, schemas).map((text) => `${name}: ${text}`)
        : [];
    });
    expect([...new Set(wrong)]).toEqual([]);
    const visited = new Set(calls.filter(({ answer }) => answer.status < 400).map(({ operation }) => operation));
    const missed = operations.filter(({ name, responses }) => !('410' in responses) && !visited.has(name));
    expect(missed.map(({ name }) => name)).toEqual([]);
    if (process.env.RECORD_EXAMPLES) writeFileSync(EXAMPLES_FILE, JSON.stringify(examplesOf(calls), null, 2) + '\n');
  }, 120_000);

  // After a change of operations: RECORD_EXAMPLES=1 npx jest -c apps/identity/jest.config.mjs src/openapi.spec.ts
  it('shows a recorded call with each operation, which still fits', () => {
    const examples = readExamples();
    const documented = operations.filter(({ responses }) => !('410' in responses)).map(({ name }) => name);
    expect(Object.keys(examples).sort()).toEqual([...documented].sort());
    const wrong = operations.flatMap((operation) =>
      (examples[operation.name] ?? []).flatMap(({ status, response }) => {
        const schema = schemaOf(operation, status);
        return schema && response !== undefined ? schemaMismatches(schema, response, schemas) : [];
      }),
    );
    expect(wrong).toEqual([]);
  });
});
