import { eventually } from '@rmm/testing-services';
import { ProvisioningTestApp } from '../../test/provisioning-test-app.js';
import { hasFormParts } from './dto/dev-push-form.dto.js';

const PATH = '/dev/push';

describe('POST /dev/push', () => {
  let testApp: ProvisioningTestApp;
  let partnerId: string;
  let orgId: string;

  const key = (scopes: string[]) => testApp.credentials.mintApiKey({ orgId, partnerId, scopes });
  const form = (rawKey: string, token?: string) =>
    testApp
      .withKey(rawKey, 'post', PATH, token)
      .field('agentId', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
      .attach('binary', Buffer.alloc(3_000_000, 'x'), 'agent');

  beforeAll(async () => {
    testApp = await ProvisioningTestApp.start();
    partnerId = await testApp.createPartner();
    orgId = (await (await testApp.clientFor({ partnerId })).post('/orgs/organizations', { name: 'Acme' })).body.id;
    const probe = key(['devices:execute']);
    await eventually(async () => expect((await testApp.withKey(probe, 'post', PATH)).status).toBe(400));
  }, 60_000);
  afterAll(() => testApp?.stop());

  it('returns 403 dev_push_disabled for the form of an authorized caller', async () => {
    const byKey = await form(key(['devices:execute']));
    expect([byKey.status, byKey.body.code]).toEqual([403, 'dev_push_disabled']);
    expect(byKey.headers['x-ratelimit-limit']).toBe('1000');
    const body = new FormData();
    body.set('binary', new Blob(['x']), 'agent');
    const headers = {
      authorization: `Bearer ${await testApp.identity.signIn({ partnerId, permissions: ['devices:execute'] })}`,
    };
    const byUser = await fetch(testApp.url + PATH, { method: 'POST', headers, body });
    expect([byUser.status, await byUser.json()]).toEqual([403, expect.objectContaining({ code: 'dev_push_disabled' })]);
  });

  it('returns 400 with the missing parts when the form is absent or empty', async () => {
    const good = key(['devices:execute']);
    const bodies = [
      testApp.withKey(good, 'post', PATH),
      testApp.withKey(good, 'post', PATH).send({ agentId: 'x' }),
      testApp.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data; boundary=b').send('--b--\r\n'),
      testApp.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data').send('--b\r\n'),
    ];
    for (const body of bodies) {
      const response = await body;
      expect([response.status, response.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(response.body.details.fieldErrors)).toEqual(['agentId', 'binary']);
      expect(response.headers['x-ratelimit-limit']).toBe('1000');
    }
  });

  it('authenticates before it checks the form', async () => {
    const anonymous = await testApp.client().post(PATH);
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'invalid_api_key']);
    const token = await testApp.identity.signIn({ partnerId });
    const bad = await form('svc_bad', token);
    expect([bad.status, bad.body.code]).toEqual([401, 'invalid_api_key']);
    const scopeless = await form(key(['devices:read', 'devices:write']));
    expect([scopeless.status, scopeless.body.code]).toEqual([403, 'api_key_scope_required']);
    expect(scopeless.body.required).toEqual(['devices:execute']);
  });

  it('requires the permission and a verified factor of a user', async () => {
    const blind = await testApp.clientFor({ partnerId, permissions: ['devices:write'] });
    expect((await blind.post(PATH)).body.code).toBe('permission_denied');
    const unproven = await testApp.clientFor({ partnerId, permissions: ['devices:execute'], mfa: false });
    expect((await unproven.post(PATH)).body.code).toBe('mfa_required');
  });

  it('refuses a key for another method or path', async () => {
    const good = key(['devices:execute']);
    for (const method of ['get', 'head', 'put', 'patch', 'delete'] as const) {
      expect((await testApp.withKey(good, method, PATH)).status).toBe(404);
    }
    expect((await testApp.withKey(good, 'post', '/dev/push/download/x')).status).toBe(404);
    expect((await testApp.withKey(good, 'post', '/dev')).status).toBe(404);
  });
});

describe('hasFormParts', () => {
  const headers = (contentType: string | undefined, length?: number) => ({
    headers: {
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(length) }),
    },
  });

  it.each([
    ['multipart/form-data; boundary=abc', 100, true],
    ['multipart/form-data; charset=utf-8; boundary="a b c"', 100, true],
    ['multipart/form-data; boundary=abc', undefined, true],
    ['multipart/form-data; boundary=abc', '--abc--\r\n'.length, false],
    ['multipart/form-data; boundary=abc', 0, false],
    ['multipart/form-data', 100, false],
    ['application/json', 100, false],
    [undefined, 100, false],
  ])('%p of %p bytes: %p', (contentType, length, expected) => {
    expect(hasFormParts(headers(contentType, length))).toBe(expected);
  });
});
