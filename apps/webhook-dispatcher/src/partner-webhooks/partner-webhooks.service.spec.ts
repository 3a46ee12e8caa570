import type { INestApplication } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { STREAMS } from '@rmm/contracts';
import { eventually } from '@rmm/testing-services';
import { type ApiClient, createApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import type { DispatcherTestCluster, Organization } from '../../test/dispatcher-test-cluster.js';
import { isSignedWith, type Received } from '../../test/fake-receiver.js';
import { EVENTS_DURABLE } from '../intake/event-intake.consumer.js';

const PREFIX = 'partner-webhooks';
const SECRET = 'a secret of the partner';

describe('/partner-webhooks', () => {
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let app: INestApplication;
  let partnerId: string;
  let admin: ApiClient;
  let stranger: ApiClient;
  let first: Organization;
  let second: Organization;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, app } = service);
  });

  beforeEach(async () => {
    partnerId = randomUUID();
    cluster.partners.add({ partnerId });
    admin = as(service.identity.partner(partnerId));
    stranger = as(service.identity.partner(randomUUID()));
    [first, second] = [await cluster.organization(partnerId), await cluster.organization(partnerId)];
    service.receiver.received.length = 0;
    service.receiver.respond = (response) => response.writeHead(200).end('ok');
  });

  afterAll(() => service?.stop());

  const as = (token: string) => createApiClient(app, token, PREFIX);
  const create = (by: ApiClient, changes: object = {}) => service.create(by, { secret: SECRET, ...changes });
  const orgOf = ({ body }: Received) => (JSON.parse(body) as { orgId: string | null }).orgId;
  const receivedBy = (path: string) => service.receiver.received.filter((one) => one.path === path);
  const received = (path: string, count: number) =>
    eventually(() => {
      const found = receivedBy(path);
      return found.length >= count
        ? Promise.resolve(found)
        : Promise.reject(new Error(`${found.length} of ${count} have arrived`));
    });
  const listDeliveries = async (id: string, query = '', by = admin) =>
    ((await by.get(`/${id}/deliveries${query}`).expect(200)).body as { data: Record<string, unknown>[] }).data;
  const deliveriesOf = (id: string, status: string, count = 1) =>
    eventually(async () => {
      const found = await listDeliveries(id, `?status=${status}`);
      return found.length >= count ? found : Promise.reject(new Error(`${found.length} of ${count} are ${status}`));
    });
  /** Resolves when the dispatcher has acknowledged every event. */
  const eventsSettled = () =>
    eventually(async () => {
      const manager = await cluster.publisher.jetstreamManager();
      const { num_pending, num_ack_pending } = await manager.consumers.info(STREAMS.events.name, EVENTS_DURABLE);
      if (num_pending + num_ack_pending > 0) throw new Error('events are not acknowledged yet');
    });
  const url = (path: string) => `${service.receiver.base}${path}`;

  describe('settings', () => {
    it('changes and deletes a webhook for its entity tag only', async () => {
      const created = await admin.post('', service.input({ secret: SECRET })).expect(201);
      const path = `/${created.body.id}`;
      const { etag } = (await admin.get(path).expect(200)).headers as { etag: string };
      await admin.get(path).set('If-None-Match', etag).expect(304);
      const fromCreation = created.headers['etag'] ?? '';
      const patched = await admin.patch(path, { name: 'Renamed' }).set('If-Match', fromCreation).expect(200);
      await admin.patch(path, { name: 'Again' }).set('If-Match', etag).expect(412);
      await admin.delete(path).set('If-Match', etag).expect(412);
      await stranger.delete(path).set('If-Match', etag).expect(404);
      const current = patched.headers['etag'] ?? '';
      const responses = await Promise.all(
        Array.from({ length: 20 }, (_, n) => admin.patch(path, { name: `${n}` }).set('If-Match', current)),
      );
      expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
      await admin.delete(path).set('If-Match', 'x').expect(400);
      await admin.delete(path).set('If-Match', '*').expect(200);
    });

    it('creates, lists, reads, updates and deletes a webhook of the partner', async () => {
      const { body } = await admin.post('', service.input({ secret: SECRET })).expect(201);
      const created = body as { id: string };
      expect(created).toMatchObject({ partnerId, name: 'Hook', status: 'active', hasSecret: true });
      expect(created).not.toHaveProperty('orgId');
      expect((await admin.get('').expect(200)).body).toMatchObject({ data: [created], pagination: { total: 1 } });
      expect((await admin.get('?status=paused').expect(200)).body).toMatchObject({ data: [] });
      const { body: read } = await admin.get(`/${created.id}`).expect(200);
      expect(read).toMatchObject({ ...created, deliveryStats: { total: 0, pending: 0 } });
      const { body: updated } = await admin.patch(`/${created.id}`, { name: 'New', status: 'paused' }).expect(200);
      expect(updated).toMatchObject({ partnerId, name: 'New', status: 'paused' });
      const { body: rotated } = await admin.post(`/${created.id}/rotate-secret`, {}).expect(200);
      expect((rotated as { secret: string }).secret).toMatch(/^whsec_/);
      await admin.delete(`/${created.id}`).expect(200);
      await admin.get(`/${created.id}`).expect(404);
      await cluster.waitForAuditActions(created.id, [
        'webhook.create',
        'webhook.update',
        'webhook.secret.rotate',
        'webhook.delete',
      ]);
    });

    it('refuses callers of an organization, of selected organizations, without permission or without a second factor', async () => {
      const id = await create(admin);
      const member = as(service.identity.member(first));
      const ofSelected = as(service.identity.partnerOf([first.orgId, second.orgId], partnerId));
      const reader = as(service.identity.partner(partnerId, ['organizations:read']));
      const withoutMfa = as(service.identity.partner(partnerId, undefined, false));
      for (const by of [member, ofSelected, reader, withoutMfa]) {
        await by.post('', service.input()).expect(403);
        await by.patch(`/${id}`, { name: 'Taken' }).expect(403);
        await by.post(`/${id}/rotate-secret`, {}).expect(403);
        await by.post(`/${id}/test`, {}).expect(403);
        await by.post(`/${id}/recover`, { since: new Date().toISOString() }).expect(403);
        await by.delete(`/${id}`).expect(403);
      }
      for (const by of [member, ofSelected]) {
        for (const path of ['', `/${id}`, `/${id}/deliveries`, '/dead-letters']) await by.get(path).expect(403);
      }
      await reader.get(`/${id}`).expect(200);
      await withoutMfa.get(`/${id}`).expect(200);
      await createApiClient(app, undefined, PREFIX).get('').expect(401);
    });

    it('shows another partner nothing and lets it change nothing', async () => {
      const id = await create(admin);
      expect((await stranger.get('').expect(200)).body).toMatchObject({ data: [] });
      await stranger.get(`?partnerId=${partnerId}`).expect(403);
      await stranger.post(`?partnerId=${partnerId}`, service.input()).expect(403);
      await stranger.get(`/${id}`).expect(404);
      await stranger.patch(`/${id}`, { name: 'Taken' }).expect(404);
      await stranger.post(`/${id}/rotate-secret`, {}).expect(404);
      await stranger.post(`/${id}/test`, {}).expect(404);
      await stranger.get(`/${id}/deliveries`).expect(404);
      await stranger.post(`/${id}/recover`, { since: new Date().toISOString() }).expect(404);
      await stranger.delete(`/${id}`).expect(404);
    });

    it('keeps the webhooks of the partner and of its organizations apart', async () => {
      const ofPartner = await create(admin);
      const organizations = service.partner(partnerId);
      const ofOrganization = await service.create(organizations, { orgId: first.orgId });
      for (const path of [`/${ofPartner}`, `/${ofPartner}/deliveries`]) await organizations.get(path).expect(404);
      for (const path of [`/${ofOrganization}`, `/${ofOrganization}/deliveries`]) await admin.get(path).expect(404);
      await organizations.patch(`/${ofPartner}`, { name: 'Taken' }).expect(404);
      await organizations.post(`/${ofPartner}/rotate-secret`, {}).expect(404);
      await organizations.delete(`/${ofPartner}`).expect(404);
      await admin.delete(`/${ofOrganization}`).expect(404);
      const { body } = await organizations.get(`?orgId=${first.orgId}`).expect(200);
      expect((body as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([ofOrganization]);
    });

    it('lets an operator of the platform name the partner', async () => {
      const operator = as(service.identity.operator());
      await operator.get('').expect(400);
      await operator.post('', service.input()).expect(400);
      await operator.post(`?partnerId=${randomUUID()}`, service.input()).expect(403);
      const { body } = await operator.post(`?partnerId=${partnerId}`, service.input()).expect(201);
      expect(body).toMatchObject({ partnerId });
      expect((await operator.get(`?partnerId=${partnerId}`).expect(200)).body).toMatchObject({ data: [body] });
    });

    it.each([
      ['an organization', { orgId: randomUUID() }, 'validation_failed'],
      ['no name', { name: '' }, 'validation_failed'],
      ['no events', { events: [] }, 'validation_failed'],
      ['an unknown event type', { events: ['moon.*'] }, 'unsupported_event_type'],
      ['an address of the cloud', { url: 'http://169.254.169.254/' }, 'invalid_webhook_url'],
      ['a reserved header', { headers: [{ key: 'host', value: 'x' }] }, 'validation_failed'],
    ])('refuses a body with %s', async (_, changes, code) => {
      const { body } = await admin.post('', service.input(changes)).expect(400);
      expect(body).toMatchObject({ code });
    });

    it('refuses more webhooks than a partner may have, whatever its organizations have', async () => {
      await service.create(service.partner(partnerId), { orgId: first.orgId });
      for (let i = 0; i < 20; i += 1) await create(admin, { url: 'http://127.0.0.1:9/' });
      const { body } = await admin.post('', service.input()).expect(409);
      expect(body).toMatchObject({ code: 'webhook_limit_reached' });
      const other = randomUUID();
      await create(as(service.identity.partner(other)));
    });
  });

  describe('deliveries', () => {
    it('delivers the events of all organizations of the partner and of no other', async () => {
      const id = await create(admin, { url: url('/all') });
      const foreign = await cluster.organization();
      await cluster.emit(foreign);
      await cluster.emit(first);
      await cluster.emit(first, 'alert.triggered');
      const eventId = await cluster.emit(second);
      await eventsSettled();
      const requests = await received('/all', 2);
      expect(requests.map(orgOf).sort()).toEqual([first.orgId, second.orgId].sort());
      expect(requests.every((request) => isSignedWith(SECRET, request))).toBe(true);
      const delivered = await deliveriesOf(id, 'delivered', 2);
      expect(delivered.map(({ orgId }) => orgId).sort()).toEqual([first.orgId, second.orgId].sort());
      const ofSecond = delivered.find((delivery) => delivery.orgId === second.orgId);
      expect(ofSecond).toMatchObject({ eventId, webhookId: id, payload: { id: eventId, orgId: second.orgId } });
      const { body } = await admin.get(`/${id}/deliveries/${String(ofSecond?.id)}/attempts`).expect(200);
      expect(body).toMatchObject({ data: [{ attempt: 1, outcome: 'delivered' }] });
      expect((await admin.get(`/${id}`)).body).toMatchObject({ deliveryStats: { total: 2, delivered: 2 } });
    });

    it('delivers an event to the webhooks of its organization and of its partner, once each', async () => {
      await create(admin, { url: url('/partner') });
      await service.webhook(first, { url: url('/organization') });
      const id = await cluster.emit(first);
      await cluster.emit(first, 'device.enrolled', { id });
      await cluster.emit(second);
      await eventsSettled();
      await received('/partner', 2);
      await received('/organization', 1);
      expect(receivedBy('/organization')).toHaveLength(1);
      expect(receivedBy('/partner').map(orgOf).sort()).toEqual([first.orgId, second.orgId].sort());
    });

    it('gets no event of another partner although its publisher names this one', async () => {
      const id = await create(admin, { url: url('/mine') });
      const foreign = await cluster.organization();
      await cluster.emit({ orgId: foreign.orgId, partnerId });
      await cluster.emit({ orgId: randomUUID(), partnerId });
      await cluster.emit(first);
      await eventsSettled();
      expect((await received('/mine', 1)).map(orgOf)).toEqual([first.orgId]);
      expect(await deliveriesOf(id, 'delivered')).toHaveLength(1);
    });

    it('gets events whose publisher names no partner', async () => {
      await create(admin, { url: url('/unnamed') });
      const foreign = await cluster.organization();
      for (const { orgId } of [foreign, first]) await cluster.emit({ orgId, partnerId: null });
      await eventsSettled();
      expect((await received('/unnamed', 1)).map(orgOf)).toEqual([first.orgId]);
    });

    it('gets no event of an organization that is not active', async () => {
      const suspended = await cluster.organization(partnerId);
      await cluster.setStatus(suspended, 'organization', 'suspended');
      await create(admin, { url: url('/active') });
      await cluster.emit(suspended);
      await cluster.emit(first);
      await eventsSettled();
      expect((await received('/active', 1)).map(orgOf)).toEqual([first.orgId]);
      await cluster.emit(second);
      expect((await received('/active', 2)).map(orgOf)).toEqual([first.orgId, second.orgId]);
    });

    it.each([`status = 'suspended'`, 'deleted = true'])(
      'gets the events about an organization itself with %s, and those of no other partner',
      async (assignment) => {
        await create(admin, { url: url('/tenancy'), events: ['organization.*', 'site.*'] });
        const foreign = await cluster.organization();
        await cluster.rows(`update organization_directory set ${assignment} where org_id = $1`, [first.orgId]);
        await cluster.emit(foreign, 'organization.deleted');
        await cluster.emit(first, 'site.updated');
        const id = await cluster.emit(first, 'organization.updated');
        await eventsSettled();
        const requests = await received('/tenancy', 1);
        expect(requests.map(({ headers }) => headers['x-service-event-id'])).toEqual([id]);
      },
    );

    it('sends a test without an organization', async () => {
      const id = await create(admin, { url: url('/test') });
      await admin.post(`/${id}/test`, {}).expect(202);
      const [request] = await received('/test', 1);
      expect(request && orgOf(request)).toBeNull();
      const [delivery] = await deliveriesOf(id, 'delivered');
      expect(delivery).toMatchObject({ orgId: null, event: 'webhook.test' });
    });

    it('retries, lists a dead letter to the partner alone, and sends it again', async () => {
      service.receiver.respond = (response) => response.writeHead(500).end('no');
      const id = await create(admin, { url: url('/dead') });
      await cluster.setRetryPolicy(id, { maxRetries: 1, initialDelayMs: 50 });
      await admin.patch(`/${id}`, { name: 'Reloaded' }).expect(200);
      const eventId = await cluster.emit(first);
      const [failed] = await deliveriesOf(id, 'failed');
      expect(failed).toMatchObject({ attempt: 2, responseStatus: 500, eventId, orgId: first.orgId });
      const letters = async (by: ApiClient) =>
        ((await by.get('/dead-letters').expect(200)).body as { data: { jobId: string }[] }).data;
      const [letter] = await letters(admin);
      expect(letter).toMatchObject({ webhookId: id, orgId: first.orgId, eventId, attempts: 2 });
      const { body: ofSecond } = await admin.get(`/dead-letters?orgId=${second.orgId}`).expect(200);
      expect(ofSecond).toMatchObject({ data: [] });
      expect(await letters(stranger)).toEqual([]);
      for (const by of [service.member(first), service.partner(partnerId)]) expect(await letters(by)).toEqual([]);
      const jobId = letter?.jobId ?? '';
      await service.partner(partnerId).post(`/dead-letters/${jobId}/retry`).expect(404);
      await stranger.post(`/dead-letters/${jobId}/retry`).expect(404);
      await stranger.delete(`/dead-letters/${jobId}`).expect(404);

      service.receiver.respond = (response) => response.writeHead(200).end('ok');
      await admin.post(`/dead-letters/${jobId}/retry`).expect(202);
      const [delivered] = await deliveriesOf(id, 'delivered');
      expect(delivered).toMatchObject({ eventId, orgId: first.orgId, payload: { orgId: first.orgId } });
      expect(await letters(admin)).toEqual([]);
    });

    it('retries a failed delivery by request, and recovers those of a period', async () => {
      service.receiver.respond = (response) => response.writeHead(500).end('no');
      const id = await create(admin, { url: url('/recovered') });
      await cluster.setRetryPolicy(id, { maxRetries: 0 });
      await admin.patch(`/${id}`, { name: 'Reloaded' }).expect(200);
      const since = new Date(Date.now() - 60_000).toISOString();
      const events = [await cluster.emit(first), await cluster.emit(second), await cluster.emit(second)];
      const failed = await deliveriesOf(id, 'failed', 3);
      service.receiver.respond = (response) => response.writeHead(200).end('ok');
      await admin.post(`/${id}/retry/${String(failed[0]?.id)}`).expect(202);
      await deliveriesOf(id, 'delivered', 1);
      expect((await admin.post(`/${id}/recover`, { since }).expect(202)).body).toEqual({ accepted: 2 });
      const delivered = await deliveriesOf(id, 'delivered', 3);
      expect(delivered.map(({ eventId }) => eventId).sort()).toEqual([...events].sort());
      expect(delivered.map(({ orgId }) => orgId).sort()).toEqual([first.orgId, second.orgId, second.orgId].sort());
    });

    it('waits while the partner is not active', async () => {
      const id = await create(admin, { url: url('/waits') });
      await cluster.setStatus(first, 'partner', 'suspended');
      await eventually(async () => {
        await cluster.emit(first);
        const [open] = await listOpen(id);
        return open ?? Promise.reject(new Error('nothing waits'));
      });
      const before = receivedBy('/waits').length;
      await cluster.setStatus(first, 'partner', 'active');
      await received('/waits', before + 1);
    });

    const listOpen = (id: string) =>
      cluster.rows(`select id from delivery where webhook_id = $1 and status = 'pending'`, [id]);

    it('delivers each event once while organizations and their partner belong to different replicas', async () => {
      const id = await create(admin, { url: url('/replicas') });
      const replica = await service.startReplica();
      await service.webhook(first, { url: url('/own') });
      const organizations = await Promise.all(Array.from({ length: 12 }, () => cluster.organization(partnerId)));
      for (const organization of [...organizations, first]) await cluster.emit(organization);
      await eventsSettled();
      const requests = await received('/replicas', 13);
      expect(requests.map(orgOf).sort()).toEqual([...organizations, first].map(({ orgId }) => orgId).sort());
      await received('/own', 1);
      await deliveriesOf(id, 'delivered', 13);
      await cluster.stop(replica);
    });
  });
});
