import { eventually } from '@rmm/testing-services';
import { ProvisioningUnderTest } from '../../test/provisioning-under-test.js';
import { carriesForm } from './dev-push-form.js';

const PATH = '/dev/push';

describe('POST /dev/push', () => {
  let service: ProvisioningUnderTest;
  let partnerId: string;
  let orgId: string;

  const key = (scopes: string[]) => service.credentials.mintApiKey({ orgId, partnerId, scopes });
  const form = (rawKey: string, token?: string) =>
    service
      .withKey(rawKey, 'post', PATH, token)
      .field('agentId', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')
      .attach('binary', Buffer.alloc(3_000_000, 'x'), 'agent');

  beforeAll(async () => {
    service = await ProvisioningUnderTest.start();
    partnerId = await service.partner();
    orgId = (await (await service.as({ partnerId })).post('/orgs/organizations', { name: 'Acme' })).body.id;
    const probe = key(['devices:execute']);
    await eventually(async () => expect((await service.withKey(probe, 'post', PATH)).status).toBe(400));
  }, 60_000);
  afterAll(() => service?.stop());

  it('is 403 dev_push_disabled for a form of somebody who may push', async () => {
    const byKey = await form(key(['devices:execute']));
    expect([byKey.status, byKey.body.code]).toEqual([403, 'dev_push_disabled']);
    expect(byKey.headers['x-ratelimit-limit']).toBe('1000');
    const body = new FormData();
    body.set('binary', new Blob(['x']), 'agent');
    const headers = {
      authorization: `Bearer ${await service.identity.signIn({ partnerId, permissions: ['devices:execute'] })}`,
    };
    const byPerson = await fetch(service.url + PATH, { method: 'POST', headers, body });
    expect([byPerson.status, await byPerson.json()]).toEqual([
      403,
      expect.objectContaining({ code: 'dev_push_disabled' }),
    ]);
  });

  it('is 400 naming the parts when there is no form, or nothing in it', async () => {
    const good = key(['devices:execute']);
    const bodies = [
      service.withKey(good, 'post', PATH),
      service.withKey(good, 'post', PATH).send({ agentId: 'x' }),
      service.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data; boundary=b').send('--b--\r\n'),
      service.withKey(good, 'post', PATH).set('Content-Type', 'multipart/form-data').send('--b\r\n'),
    ];
    for (const body of bodies) {
      const answer = await body;
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
      expect(Object.keys(answer.body.details.fieldErrors)).toEqual(['agentId', 'binary']);
      expect(answer.headers['x-ratelimit-limit']).toBe('1000');
    }
  });

  it('asks for the credential first', async () => {
    const anonymous = await service.client().post(PATH);
    expect([anonymous.status, anonymous.body.code]).toEqual([401, 'invalid_api_key']);
    const token = await service.identity.signIn({ partnerId });
    const bad = await form('svc_bad', token);
    expect([bad.status, bad.body.code]).toEqual([401, 'invalid_api_key']);
    const scopeless = await form(key(['devices:read', 'devices:write']));
    expect([scopeless.status, scopeless.body.code]).toEqual([403, 'api_key_scope_required']);
    expect(scopeless.body.required).toEqual(['devices:execute']);
  });

  it('asks a person for the permission and a verified factor', async () => {
    const blind = await service.as({ partnerId, permissions: ['devices:write'] });
    expect((await blind.post(PATH)).body.code).toBe('permission_denied');
    const unproven = await service.as({ partnerId, permissions: ['devices:execute'], mfa: false });
    expect((await unproven.post(PATH)).body.code).toBe('mfa_required');
  });

  it('is no way in for a key by another method or path', async () => {
    const good = key(['devices:execute']);
    for (const method of ['get', 'head', 'put', 'patch', 'delete'] as const) {
      expect((await service.withKey(good, method, PATH)).status).toBe(404);
    }
    expect((await service.withKey(good, 'post', '/dev/push/download/x')).status).toBe(404);
    expect((await service.withKey(good, 'post', '/dev')).status).toBe(404);
  });
});

describe('a form of dev push', () => {
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
    expect(carriesForm(headers(contentType, length))).toBe(expected);
  });
});
