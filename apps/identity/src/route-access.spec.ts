import supertest from 'supertest';
import { IdentityTestApp, type IdentityReplica } from '../test/identity-test-app.js';

/** Every public route. Add a new one here only if it is meant to be public. */
const OPEN = [
  'GET /auth/.well-known/jwks.json',
  'GET /auth/invite/preview/{token}',
  'GET /auth/login-context',
  'GET /config',
  'GET /sso/callback',
  'GET /sso/check/{orgId}',
  'GET /sso/login/partner/{partnerId}',
  'GET /sso/login/{orgId}',
  'POST /auth/accept-invite',
  'POST /auth/forgot-password',
  'POST /auth/invite/preview',
  'POST /auth/login',
  'POST /auth/logout',
  'POST /auth/mfa/passkey/options',
  'POST /auth/mfa/passkey/verify',
  'POST /auth/mfa/sms/send',
  'POST /auth/mfa/verify',
  'POST /auth/passkeys/login/options',
  'POST /auth/passkeys/login/verify',
  'POST /auth/refresh',
  'POST /auth/register',
  'POST /auth/register-partner',
  'POST /auth/reset-password',
  'POST /auth/sso-discovery',
  'POST /auth/verify-email',
  'POST /sso/backchannel-logout/{providerId}',
  'POST /sso/exchange',
];

interface Operation {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  path: string;
  name: string;
}

describe('the routes of identity', () => {
  let testApp: IdentityTestApp;
  let identity: IdentityReplica;
  let operations: Operation[];

  beforeAll(async () => {
    testApp = await IdentityTestApp.start();
    identity = await testApp.startReplica();
    const document = await supertest(identity.app.getHttpServer() as never).get('/openapi.json');
    operations = Object.entries(document.body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => {
        const short = path.replace('/api/v1', '');
        return { method: method as Operation['method'], path: short, name: `${method.toUpperCase()} ${short}` };
      }),
    );
  }, 120_000);
  afterAll(() => testApp.stop());

  const call = ({ method, path }: Operation, headers: Record<string, string> = {}) =>
    identity.call(method, path.replace(/\{\w+\}/g, '7d9f2c1e-0000-4000-8000-000000000000'), undefined, { headers });

  it('return 401 without credentials, except for public routes', async () => {
    expect(operations.length).toBeGreaterThan(50);
    const open: string[] = [];
    for (const operation of operations) {
      const { status, body } = await call(operation);
      if (!(status === 401 && body.code === 'unauthenticated')) open.push(operation.name);
    }
    const returnsUnauthenticated = ['POST /auth/logout'];
    expect(open.sort()).toEqual(OPEN.filter((name) => !returnsUnauthenticated.includes(name)));
  });

  it('refuse API keys without a lookup', async () => {
    for (const operation of operations) {
      const response = await call(operation, { 'x-api-key': 'svc_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' });
      expect({ name: operation.name, code: response.body.code }).toEqual({
        name: operation.name,
        code: 'api_key_not_accepted_here',
      });
    }
  });

  it.each(['x', 'a.b.c', `${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`])(
    'refuse the token %s',
    async (token) => {
      const response = await identity.get('/users/me', { bearer: token });
      expect(response).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    },
  );
});
