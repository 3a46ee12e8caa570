import { ApiClient, connectToFleet } from '@rmm/testing';

describe('deprecated operations', () => {
  const client = new ApiClient(connectToFleet().baseUrl);

  it('say so in the OpenAPI document and in their responses, refused ones included', async () => {
    const { body } = await client.get('//openapi.json');
    const deprecated = Object.entries<Record<string, { deprecated?: boolean }>>(body.paths).flatMap(([path, item]) =>
      Object.keys(item)
        .filter((method) => item[method]?.deprecated)
        .map((method) => ({ method: method.toUpperCase(), path: path.replace('/api/v1', '') })),
    );
    expect(deprecated).toHaveLength(2);
    for (const { method, path } of deprecated) {
      const body = method === 'GET' ? undefined : {};
      const response = await client.send(method, path.replace(/\{\w+\}/, 'unknown'), body);
      expect([400, 410]).toContain(response.status);
      expect(response.headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(response.headers.get('link')).toBe('</docs>; rel="deprecation"; type="text/html"');
      expect(response.headers.get('sunset')).toBeNull();
    }
  });

  it('leave the other operations without these headers', async () => {
    const { headers } = await client.post('/auth/login', {});
    expect([headers.get('deprecation'), headers.get('link')]).toEqual([null, null]);
  });
});
