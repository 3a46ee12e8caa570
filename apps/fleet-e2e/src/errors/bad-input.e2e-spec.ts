import { ApiClient, connectToFleet, partnerWithMfa } from '@rmm/testing';

/** A POST with a JSON body for each service. */
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

  const expectError = (response: Awaited<ReturnType<ApiClient['get']>>, status: number, code: string) => {
    expect([response.status, response.body.code]).toEqual([status, code]);
    expect(response.body).toMatchObject({ error: expect.any(String), message: expect.any(String) });
    expect(response.body.requestId).toBe(response.headers.get('x-request-id'));
  };

  describe.each(POSTS)('at %s', (_service, path) => {
    it('responds 400 malformed_json to malformed JSON', async () => {
      expectError(await client.send('POST', path, '{"name": '), 400, 'malformed_json');
    });

    it('responds 415 to another content type', async () => {
      const response = await client.send('POST', path, 'name=x', { contentType: 'application/x-www-form-urlencoded' });
      expectError(response, 415, 'unsupported_media_type');
    });

    it('responds 413 to a body over the limit', async () => {
      const response = await client.send('POST', path, JSON.stringify({ name: 'x'.repeat(1_100_000) }));
      expectError(response, 413, 'payload_too_large');
    });

    it('responds 400 naming an unknown field', async () => {
      const response = await client.post(path, { surprise: 1 });
      expectError(response, 400, 'validation_failed');
      expect(response.body.details.fieldErrors.surprise).toEqual(['unknown field']);
    });
  });

  it.each(READS)('at %s responds the same 404 to a malformed and an unknown id', async (_service, path, text) => {
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

  it('takes over a valid request id and replaces an invalid one', async () => {
    const given = await client.as({ headers: { 'x-request-id': 'request-1' } }).get('/config');
    expect(given.headers.get('x-request-id')).toBe('request-1');
    const replaced = await client.as({ headers: { 'x-request-id': 'no spaces please' } }).get('/config');
    expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('responds 401 without a token, and names the surfaces to an API key', async () => {
    const anonymous = new ApiClient(fleet.baseUrl);
    expectError(await anonymous.get('/webhooks'), 401, 'unauthenticated');
    const withKey = await anonymous.as({ apiKey: 'svc_unknown' }).get('/webhooks');
    expectError(withKey, 401, 'api_key_not_accepted_here');
    expect(withKey.body.message).toContain('/devices/:id/custom-fields');
  });

  it('sets the security headers on errors too', async () => {
    const response = await client.get('/nowhere');
    const config = await client.get('/config');
    for (const { headers } of [config]) {
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('content-security-policy')).toContain("default-src 'self'");
      expect(headers.get('x-powered-by')).toBeNull();
    }
    expect(response.headers.get('x-powered-by')).toBeNull();
  });
});
