import { ApiClient, connectToFleet } from '@rmm/testing';
import { must } from '../steps.js';

describe('a service on its own port', () => {
  const fleet = connectToFleet();
  const own = (port: number) => new ApiClient(`http://127.0.0.1:${port}`);

  it.each(fleet.services)('$name is live and ready, with metrics and an OpenAPI document', async ({ name, port }) => {
    expect(must(await own(port).get('//health/live'), 200)).toEqual({ status: 'ok' });
    expect(must(await own(port).get('//health/ready'), 200)).toMatchObject({
      status: 'ok',
      checks: { database: 'up', redis: 'up', nats: 'up', publishing: 'up' },
    });
    const metrics = await own(port).get('//metrics');
    expect(metrics.headers.get('content-type')).toMatch(/^application\/openmetrics-text|^text\/plain/);
    expect(String(metrics.body)).toMatch(/^# TYPE \S*http\S* histogram$/m);
    if (name !== 'partner-gateway') expect(must(await own(port).get('//openapi.json'), 200).openapi).toMatch(/^3\./);
  });

  it('hides these behind the edge, which has health endpoints of its own', async () => {
    const edge = new ApiClient(fleet.baseUrl);
    expect((await edge.get('//metrics')).status).toBe(404);
    expect(must(await edge.get('//health/live'), 200)).toEqual({ status: 'ok' });
    expect(must(await edge.get('//health/ready'), 200)).toMatchObject({ status: 'ok' });
  });
});
