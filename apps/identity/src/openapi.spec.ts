import supertest from 'supertest';
import { IdentityFleet, type Answer, type RunningIdentity } from '../test/identity-fleet.js';
import { schemaMismatches, type Schema, type Schemas } from '../test/schema-mismatches.js';
import { VISITS } from '../test/visits/visits.js';

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

  it('says in a line what each operation is for', () => {
    expect(operations.length).toBeGreaterThan(50);
    expect(operations.filter(({ summary }) => !summary?.trim()).map(({ name }) => name)).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    const bare = operations.filter((operation) => {
      const statuses = Object.keys(operation.responses).filter((status) => status !== 'default');
      const bodiless = statuses.filter((status) => ['204', '302', '410'].includes(status));
      const successes = statuses.filter((status) => status.startsWith('2') && status !== '204');
      if (successes.length === 0) return bodiless.length === 0;
      return !successes.every((status) => schemaOf(operation, status));
    });
    expect(bare.map(({ name }) => name)).toEqual([]);
  });

  it('says what is truly answered, status and body', async () => {
    const answers: { name: string; answer: Answer }[] = [];
    const call = identity.call.bind(identity);
    jest.spyOn(identity, 'call').mockImplementation(async (method, path, body, options) => {
      const answer = await call(method, path, body, options);
      answers.push({ name: nameOf(method, path), answer });
      return answer;
    });
    const nameOf = (method: string, path: string) => {
      const called = `${method} ${path.replace(/\?.*/, '')}`;
      const literal = operations.find(({ name }) => name === called);
      return (literal ?? operations.find(({ name }) => pattern(name).test(called)))?.name ?? called;
    };
    const pattern = (name: string) => new RegExp(`^${name.replace(/\{\w+\}/g, '[^/]+')}$`);

    for (const visit of VISITS) await visit(identity);

    const wrong = answers.flatMap(({ name, answer: { status, body } }) => {
      if (status >= 400) return [];
      const operation = operations.find((candidate) => candidate.name === name);
      const schema = operation && schemaOf(operation, status);
      return schema
        ? schemaMismatches(schema, body, schemas).map((text) => `${name}: ${text}`)
        : [`${name}: ${status} is not described`];
    });
    expect([...new Set(wrong)]).toEqual([]);
    const visited = new Set(answers.filter(({ answer }) => answer.status < 400).map(({ name }) => name));
    const missed = operations.filter(({ name, responses }) => !('410' in responses) && !visited.has(name));
    expect(missed.map(({ name }) => name)).toEqual([]);
  }, 60_000);
});
