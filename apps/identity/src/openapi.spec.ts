import supertest from 'supertest';
import { IdentityFleet } from '../test/identity-fleet.js';

interface Operation {
  summary?: string;
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

describe('the OpenAPI document of identity', () => {
  let fleet: IdentityFleet;
  let operations: [name: string, operation: Operation][];

  beforeAll(async () => {
    fleet = await IdentityFleet.start();
    const identity = await fleet.run();
    const { body } = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    operations = Object.entries(body.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    );
  }, 120_000);
  afterAll(() => fleet.stop());

  it('says in a line what each operation is for', () => {
    expect(operations.length).toBeGreaterThan(25);
    expect(operations.filter(([, { summary }]) => !summary?.trim()).map(([name]) => name)).toEqual([]);
  });

  it('has a schema for every body a success answers', () => {
    const bare = operations.filter(([, { responses }]) => {
      const statuses = Object.keys(responses).filter((status) => status !== 'default');
      if (statuses.every((status) => status === '410')) return statuses.length === 0;
      const answered = statuses.filter((status) => status.startsWith('2') && status !== '204');
      const bodiless = statuses.some((status) => status === '204' || status.startsWith('3'));
      const described = answered.every((status) => responses[status]?.content?.['application/json']?.schema);
      return !described || (answered.length === 0 && !bodiless);
    });
    expect(bare.map(([name]) => name)).toEqual([]);
  });
});
