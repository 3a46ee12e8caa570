import type { INestApplication } from '@nestjs/common';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@rmm/testing-services';
import {
  createWebhook,
  DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { FakeReceiver, type Received } from '../../test/fake-receiver.js';
import { GUIDE_VERIFIERS, type SignedRequest } from '../../test/guide-verifiers.js';
import { WebhookSecretsService } from '../webhooks/webhook-secrets.service.js';

const OLD = 'ein Schlüssel aus Wörtern';
const NEW = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const FIVE_MINUTES = 300_000;

/** docs/guides/receiving-webhooks.md: every verifier in it, against what the dispatcher really sends. */
describe('the guide for receivers', () => {
  const dir = mkdtempSync(join(tmpdir(), 'receivers-guide-'));
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let receiver: FakeReceiver;
  let organization: Organization;
  let single: Received;
  let overlapping: Received;

  beforeAll(async () => {
    cluster = await DispatcherTestCluster.open();
    receiver = await FakeReceiver.start();
    app = await cluster.start();
    organization = await cluster.organization();
    const { id } = await createWebhook(app, organization, receiver.url, { secret: OLD });
    single = await delivered();
    const caller = organizationCaller(organization);
    await app.get(WebhookSecretsService).rotate(caller, id, { secret: NEW });
    overlapping = await delivered();
  });

  afterAll(async () => {
    rmSync(dir, { recursive: true, force: true });
    await receiver.stop();
    await cluster.close();
  });

  async function delivered(): Promise<Received> {
    const data = { hostname: 'höst ☃', note: 'a "quoted"\nline' };
    const eventId = await cluster.emit(organization, 'device.online', { data });
    return eventually(() => {
      const found = receiver.received.find(({ headers }) => headers['x-service-event-id'] === eventId);
      if (!found) throw new Error('nothing came');
      return found;
    });
  }

  const timeOf = ({ headers }: Received) => Number(headers['x-service-signature-timestamp']);

  /** Returns the received request with changes. */
  const presented = (
    received: Received,
    secret: string,
    changes: { body?: string; headers?: Record<string, string>; laterMs?: number } = {},
  ): SignedRequest => ({
    body: Buffer.from(changes.body ?? received.body, 'utf8').toString('base64'),
    headers: { ...(received.headers as Record<string, string>), ...changes.headers },
    secret,
    nowMs: timeOf(received) + (changes.laterMs ?? 100),
  });

  const accepted = (): SignedRequest[] => [
    presented(single, OLD),
    presented(overlapping, NEW),
    presented(overlapping, OLD),
    presented(overlapping, NEW, { headers: { 'x-service-signature-previous': '' } }),
    presented(single, OLD, { laterMs: FIVE_MINUTES }),
    presented(single, OLD, { laterMs: -FIVE_MINUTES }),
    // Nothing else is inside the signature.
    presented(single, OLD, { headers: { 'x-service-timestamp': '1' } }),
  ];

  const refused = (): SignedRequest[] => {
    const signature = String(single.headers['x-service-signature']);
    const timestamp = String(timeOf(single));
    return [
      presented(single, NEW),
      presented(single, OLD.normalize('NFD')),
      presented(single, ''),
      presented(overlapping, `${NEW} `),
      presented(single, OLD, { body: `${single.body} ` }),
      presented(single, OLD, { body: JSON.stringify(JSON.parse(single.body), null, 1) }),
      presented(single, OLD, { body: single.body.replace('device.online', 'device.offline') }),
      presented(single, OLD, { body: '' }),
      presented(single, OLD, { laterMs: FIVE_MINUTES + 1 }),
      presented(single, OLD, { laterMs: -FIVE_MINUTES - 1 }),
      presented(overlapping, OLD, { laterMs: FIVE_MINUTES + 1 }),
      presented(overlapping, OLD, { headers: { 'x-service-signature-previous': '' } }),
      ...['', ' ', 'now', '-1', '1e13', `${timestamp} `, ` ${timestamp}`, `${timestamp}0`, `${timestamp}.0`].map(
        (time) => presented(single, OLD, { headers: { 'x-service-signature-timestamp': time } }),
      ),
      presented(single, OLD, { headers: { 'x-service-signature-timestamp': String(timeOf(single) + 1) } }),
      ...['', 'sha256=', signature.slice(0, -1), `${signature}0`, signature.replace('sha256=', ''), 'ü'.repeat(71)].map(
        (given) => presented(single, OLD, { headers: { 'x-service-signature': given } }),
      ),
    ];
  };

  it('has code in four languages, of which the first runs everywhere', () => {
    expect(GUIDE_VERIFIERS.map(({ language }) => language)).toEqual(['ts', 'python', 'go', 'php']);
    expect(GUIDE_VERIFIERS[0]?.isRunnable).toBe(true);
  });

  describe.each(GUIDE_VERIFIERS)('its code in $language', ({ isRunnable, verify }) => {
    const given = isRunnable ? it : it.skip;

    given('accepts what is ours: before a rotation, and with either secret during the overlap', () => {
      const requests = accepted();
      expect(verify(dir, requests)).toEqual(requests.map(() => true));
    });

    given('refuses another body, secret, time or signature', () => {
      const requests = refused();
      const results = verify(dir, requests);
      expect(results).toHaveLength(requests.length);
      expect(requests.filter((_, i) => results[i])).toEqual([]);
    });
  });
});
