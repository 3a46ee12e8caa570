import type { INestApplication } from '@nestjs/common';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { isSignedWith, FakeReceiver, type Received } from '../../test/fake-receiver.js';
import type { WebhookHeader } from './webhook-headers.policy.js';
import { WebhookSealingService } from './webhook-sealing.service.js';
import { WebhooksService } from './webhooks.service.js';

const STANDARD = [
  'Content-Type',
  'User-Agent',
  'X-Service-Delivery-Id',
  'X-Service-Event-Id',
  'X-Service-Event-Type',
  'X-Service-Timestamp',
  'X-Service-Signature',
  'X-Service-Signature-Timestamp',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
];

describe('custom headers on the wire', () => {
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    app = await cluster.start();
    receiver = await FakeReceiver.start();
    organization = await cluster.organization();
  });

  afterAll(async () => {
    await receiver.stop();
    await cluster.close();
  });

  /** Returns the header lines of a request to a webhook with these headers in its row. */
  const linesOf = async (headers: WebhookHeader[], url = receiver.url) => {
    const webhook = await createWebhook(app, organization, url, { secret: 's', standardWebhooks: true });
    const sealed = app.get(WebhookSealingService).sealHeaders(webhook.id, headers);
    await cluster.rows('update webhook set headers = $2 where id = $1', [webhook.id, JSON.stringify(sealed)]);
    const eventId = await cluster.emit(organization);
    const received = await eventually(() => {
      const found = receiver.received.find((request) => request.headers['x-service-event-id'] === eventId);
      if (!found) throw new Error('nothing came');
      return found;
    });
    await app.get(WebhooksService).delete(organizationCaller(organization), webhook.id);
    return { received, lines: pairsOf(received) };
  };

  it('follow the standard headers in the given spelling', async () => {
    const given = [
      { key: 'X-Environment', value: 'prod' },
      { key: 'x-LOWER-upper', value: 'a, b; c="d"' },
      { key: 'X-Latin', value: 'Grüße' },
      { key: 'X-Empty', value: '' },
    ];
    const { received, lines } = await linesOf(given);
    const own = given.map(({ key }) => key);
    const names = lines.map(([name]) => name).filter((name) => STANDARD.includes(name) || own.includes(name));
    expect(names).toEqual([...STANDARD, ...own]);
    expect(isSignedWith('s', received)).toBe(true);
    // Node reads header bytes as Latin-1.
    expect(lines.filter(([name]) => own.includes(name)).map(([, value]) => value)).toEqual(
      given.map(({ value }) => value),
    );
  });

  it('cannot replace or repeat a standard header, not even from the database', async () => {
    const spellings = (name: string) => [
      name,
      name.toLowerCase(),
      name.toUpperCase(),
      [...name].map((c, i) => (i % 2 ? c.toUpperCase() : c.toLowerCase())).join(''),
      ` ${name}`,
      `${name} `,
      `${name}:`,
      `${name}\t`,
      `X-A: 1\r\n${name}`,
    ];
    const names = [...STANDARD, 'X-Service-Signature-Previous', 'Host', 'Content-Length', 'Transfer-Encoding'];
    const rest = ['Connection', 'TE', 'Trailer', 'Upgrade', 'Keep-Alive', 'Expect', 'Proxy-Authorization', 'Metadata'];
    const forged = [...names, ...rest].flatMap(spellings).map((key) => ({ key, value: 'forged' }));
    const smuggled = { key: 'X-B', value: 'x\r\nX-Service-Signature: forged' };
    const { received, lines } = await linesOf([...forged, smuggled, { key: 'X-Fine', value: 'fine' }]);
    const seen = lines.map(([name]) => name.toLowerCase());
    expect(seen.filter((name, i) => seen.indexOf(name) !== i)).toEqual([]);
    expect(received.rawHeaders.join('\n')).not.toContain('forged');
    for (const name of STANDARD) expect(lines.map(([key]) => key)).toContain(name);
    expect(received.headers).toMatchObject({
      'x-fine': 'fine',
      host: new URL(receiver.url).host,
      'user-agent': 'Service-Webhooks/1.0',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(received.body)),
    });
    expect(isSignedWith('s', received)).toBe(true);
  });

  it('are sent once when two spellings are stored', async () => {
    const { lines } = await linesOf([
      { key: 'X-Tenant', value: '1' },
      { key: 'x-tenant', value: '2' },
    ]);
    expect(lines.filter(([name]) => name.toLowerCase() === 'x-tenant')).toEqual([['X-Tenant', '1']]);
  });

  it('replace the credentials of the URL in any spelling', async () => {
    const url = receiver.url.replace('://', '://user:pass@');
    const { lines } = await linesOf([{ key: 'aUTHORIZATION', value: 'Bearer abc' }], url);
    expect(lines.filter(([name]) => name.toLowerCase() === 'authorization')).toEqual([['aUTHORIZATION', 'Bearer abc']]);
  });

  it('may have names of JavaScript properties', async () => {
    const given = ['constructor', 'toString', 'hasOwnProperty'].map((key) => ({ key, value: `v-${key}` }));
    const { lines } = await linesOf([...given, { key: '__proto__', value: 'v-x' }]);
    const own = lines.filter(([, value]) => value.startsWith('v-'));
    expect(own).toEqual(given.map(({ key, value }) => [key, value]));
  });
});

function pairsOf({ rawHeaders }: Received): [string, string][] {
  return rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? ''] as [string, string]] : []));
}
