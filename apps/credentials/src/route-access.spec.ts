import supertest from 'supertest';
import { CredentialsTestApp } from '../test/credentials-test-app.js';
import { type Client } from '../test/partner-principals.js';

interface Operation {
  method: 'get' | 'post' | 'patch' | 'delete';
  path: string;
  name: string;
}

describe('access to the routes of credentials', () => {
  let service: CredentialsTestApp;
  let operations: Operation[];

  beforeAll(async () => {
    service = await CredentialsTestApp.start();
    const document = await supertest(service.app.getHttpServer() as never).get('/openapi.json');
    operations = Object.entries(document.body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => {
        const short = path.replace('/api/v1', '');
        return { method: method as Operation['method'], path: short, name: `${method.toUpperCase()} ${short}` };
      }),
    );
  }, 120_000);
  afterAll(() => service.stop());

  const writes = () => operations.filter(({ method }) => method !== 'get');
  /** Returns status and code of each operation, by its name. */
  const codesOf = async (client: Client, called = operations) => {
    const codes: Record<string, string> = {};
    for (const { method, path, name } of called) {
      const { status, body } = await client[method](
        path.replace(/\{\w+\}/g, '7d9f2c1e-0000-4000-8000-000000000000'),
        {},
      );
      codes[name] = `${status} ${body.code}`;
    }
    return codes;
  };
  const all = (code: string, called = operations) => Object.fromEntries(called.map(({ name }) => [name, code]));

  it('returns 401 without a valid token', async () => {
    expect(operations.length).toBeGreaterThan(25);
    expect(await codesOf(service.client())).toEqual(all('401 unauthenticated'));
    expect(await codesOf(service.client('a.b.c'))).toEqual(all('401 unauthenticated'));
  });

  it.each(['svc_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', `svc_sp_${'a'.repeat(43)}`])(
    'returns 401 for the key %s without a look-up',
    async (key) => {
      const client = service.client(undefined, { 'x-api-key': key });
      expect(await codesOf(client)).toEqual(all('401 api_key_not_accepted_here'));
    },
    60_000,
  );

  it('requires organizations:read for reads and organizations:write for writes', async () => {
    const partnerId = await service.createPartner();
    const outsider = await service.as({ partnerId, permissions: ['devices:read', 'users:write'] });
    expect(await codesOf(outsider)).toEqual(all('403 permission_denied'));
    const reader = await service.as({ partnerId, permissions: ['organizations:read'] });
    expect(await codesOf(reader, writes())).toEqual(all('403 permission_denied', writes()));
    const writer = await service.as({ partnerId, permissions: ['organizations:write'] });
    const reads = operations.filter(({ method }) => method === 'get');
    expect(await codesOf(writer, reads)).toEqual(all('403 permission_denied', reads));
  });

  it('requires a verified second factor for every write', async () => {
    const oneFactor = await service.as({ partnerId: await service.createPartner(), mfa: false });
    expect(await codesOf(oneFactor, writes())).toEqual(all('403 mfa_required', writes()));
  });
});
