import { ApiClient, connectToFleet, partnerWithMfa } from '@rmm/testing';

/** One POST of each service that takes a JSON body. */
const POSTS = [
  ['identity', '/auth/login'],
  ['credentials', '/api-keys'],
  ['provisioning', '/orgs/organizations'],
  ['webhook-dispatcher', '/webhooks'],
] as const;
const READS = [
  ['credentials', '/api-keys', 'API key not found'],
  ['provisioning', '/orgs/organizations', 'Organization not found'],
  ['webhook-dispatcher', '/webhooks', 'Webhook not found'],
] as const;

describe('bad input', () => {
  const fleet = connectToFleet();
  let client: ApiClient;
  beforeAll(async () => {
    client = (await partnerWithMfa(fleet)).client;
  });

  const expectError = (answer: Awaited<ReturnType<ApiClient['get']>>, status: number, code: string) => {
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(answer.body).toMatchObject({ error: expect.any(String), message: expect.any(String) });
    expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'));
  };

  describe.each(POSTS)('at %s', (_service, path) => {
    it('malformed JSON is 400 malformed_json', async () => {
      expectError(await client.send('POST', path, '{"name": '), 400, 'malformed_json');
    });

    it('another content type is 415', async () => {
      const answer = await client.send('POST', path, 'name=x', { contentType: 'application/x-www-form-urlencoded' });
      expectError(answer, 415, 'unsupported_media_type');
    });

    it('a body over the ceiling is 413', async () => {
      const answer = await client.send('POST', path, JSON.stringify({ name: 'x'.repeat(1_100_000) }));
      expectError(answer, 413, 'payload_too_large');
    });

    it('an unknown field is 400 and named', async () => {
      const answer = await client.post(path, { surprise: 1 });
      expectError(answer, 400, 'validation_failed');
      expect(answer.body.details.fieldErrors.surprise).toEqual(['unknown field']);
    });
  });

  it.each(READS)('at %s a malformed uuid is the same 404 as an unknown one', async (_service, path, text) => {
    const malformed = await client.get(`${path}/not-a-uuid`);
    expectError(malformed, 404, 'not_found');
    expect(malformed.body.error).toBe(text);
    const unknown = await client.get(`${path}/00000000-0000-4000-8000-000000000000`);
    expect({ ...unknown.body, requestId: '' }).toEqual({ ...malformed.body, requestId: '' });
  });

  it.each([
    '/auth/nowhere',
    '/api-keys/a/b/c',
    '/orgs/nowhere',
    '/webhooks/a/b/c/d',
    '/partner-api/nowhere',
    '/nowhere',
  ])('an unknown route is 404: %s', async (path) => {
    expectError(await client.get(path), 404, 'not_found');
  });

  it('a request id of the caller is taken over, a bad one is replaced', async () => {
    const given = await client.as({ headers: { 'x-request-id': 'walk-1' } }).get('/config');
    expect(given.headers.get('x-request-id')).toBe('walk-1');
    const replaced = await client.as({ headers: { 'x-request-id': 'no spaces please' } }).get('/config');
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('a user route without a token is 401, with an API key it names the surfaces', async () => {
    const anonymous = new ApiClient(fleet.baseUrl);
    expectError(await anonymous.get('/webhooks'), 401, 'unauthenticated');
    const withKey = await anonymous.as({ apiKey: 'svc_nobody' }).get('/webhooks');
    expectError(withKey, 401, 'api_key_not_accepted_here');
    expect(withKey.body.message).toContain('/devices/:id/custom-fields');
  });

  it('the ordinary security headers stand on errors too', async () => {
    const answer = await client.get('/nowhere');
    const config = await client.get('/config');
    for (const { headers } of [config]) {
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(headers.get('x-powered-by')).toBeNull();
    }
    expect(answer.headers.get('x-powered-by')).toBeNull();
  });
});
