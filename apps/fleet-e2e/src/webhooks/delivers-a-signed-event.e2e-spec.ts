import {
  ApiClient,
  WebhookReceiver,
  buildEnrollment,
  connectToFleet,
  hasValidSignature,
  createOrganization,
  partnerWithMfa,
  untilStatus,
} from '@rmm/testing';
import { deliveriesOf, enrollmentKey, createWebhook } from '../steps.js';

const SECRET = 'a-secret-of-the-receiver';

describe('the event of an enrolled device', () => {
  const fleet = connectToFleet();
  const receivers: WebhookReceiver[] = [];
  const receiver = async (statuses: number[] = []) => {
    const created = new WebhookReceiver(statuses);
    receivers.push(created);
    return { receiver: created, url: await created.start() };
  };
  afterAll(() => Promise.all(receivers.map((created) => created.stop())));

  it('is delivered to the webhook of its organization, signed, and recorded as delivered', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const { receiver: sink, url } = await receiver();
    const webhook = await createWebhook(client, orgId, { url, secret: SECRET });
    const key = await enrollmentKey(client, orgId);

    const body = buildEnrollment(key);
    const enrolled = await untilStatus(() => new ApiClient(fleet.baseUrl).post('/agents/enroll', body), 201);

    const [delivery] = await sink.waitFor('device.enrolled');
    expect(delivery?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1.0',
      'x-service-event-type': 'device.enrolled',
      'x-service-event-id': delivery?.body.id,
    });
    expect(delivery?.headers['x-service-timestamp']).toBe(delivery?.headers['x-service-signature-timestamp']);
    expect(delivery && hasValidSignature(delivery, SECRET)).toBe(true);
    expect(delivery && hasValidSignature(delivery, 'another secret')).toBe(false);
    expect(Object.keys(delivery?.body ?? {}).sort()).toEqual(['data', 'id', 'orgId', 'timestamp', 'type']);
    expect(delivery?.body).toMatchObject({
      orgId,
      data: { deviceId: enrolled.body.deviceId, hostname: body.hostname, osType: 'linux' },
    });
    const [stored] = await deliveriesOf(client, webhook.id, 'delivered');
    expect(stored).toMatchObject({
      id: delivery?.headers['x-service-delivery-id'],
      eventId: delivery?.body.id,
      status: 'delivered',
      attempt: 1,
      responseStatus: 200,
      responseBody: 'received',
    });
  });

  it('is delivered on the third attempt when the receiver responds 503 twice', async () => {
    const { client } = await partnerWithMfa(fleet);
    const { orgId } = await createOrganization(client);
    const { receiver: sink, url } = await receiver([503, 503]);
    const webhook = await createWebhook(client, orgId, { url, secret: SECRET });
    const key = await enrollmentKey(client, orgId);
    await untilStatus(() => new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);

    const attempts = await sink.waitFor('device.enrolled', 3, 20_000);

    expect(new Set(attempts.map((attempt) => attempt.headers['x-service-delivery-id'])).size).toBe(1);
    const [stored] = await deliveriesOf(client, webhook.id, 'delivered');
    expect(stored).toMatchObject({ status: 'delivered', attempt: 3, responseStatus: 200 });
  });

  it('is not delivered to a webhook of another partner or to a paused one', async () => {
    const [ours, theirs] = [await partnerWithMfa(fleet), await partnerWithMfa(fleet)];
    const [our, their] = [await createOrganization(ours.client), await createOrganization(theirs.client)];
    const [active, foreign, paused] = [await receiver(), await receiver(), await receiver()];
    await createWebhook(ours.client, our.orgId, { url: active.url });
    await createWebhook(theirs.client, their.orgId, { url: foreign.url });
    const { id } = await createWebhook(ours.client, our.orgId, { url: paused.url });
    expect((await ours.client.patch(`/webhooks/${id}`, { status: 'paused' })).status).toBe(200);
    const key = await enrollmentKey(ours.client, our.orgId);
    await untilStatus(() => new ApiClient(fleet.baseUrl).post('/agents/enroll', buildEnrollment(key)), 201);

    await active.receiver.waitFor('device.enrolled');

    expect(foreign.receiver.received).toEqual([]);
    expect(paused.receiver.received).toEqual([]);
  });
});
