import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Clock } from '@rmm/service-kit';
import { eventually } from '@rmm/testing-services';
import type { ApiClient } from '../../test/api-client.js';
import { DispatcherTestApp } from '../../test/dispatcher-test-app.js';
import {
  type DispatcherTestCluster,
  organizationCaller,
  type Organization,
} from '../../test/dispatcher-test-cluster.js';
import { isSignedWith, type FakeReceiver, type Received } from '../../test/fake-receiver.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import { MASK } from './webhook-masking.policy.js';
import { WebhooksService } from './webhooks.service.js';

describe('POST /webhooks/:id/rotate-secret', () => {
  let service: DispatcherTestApp;
  let cluster: DispatcherTestCluster;
  let receiver: FakeReceiver;
  let mine: Organization;
  let member: ApiClient;

  beforeAll(async () => {
    service = await DispatcherTestApp.start();
    ({ cluster, receiver } = service);
    mine = await cluster.organization();
    member = service.member(mine);
    await member.get('').expect(200);
  });

  beforeEach(() => {
    receiver.received.length = 0;
  });
  afterEach(() => jest.restoreAllMocks());

  afterAll(() => service.stop());

  const rotate = (id: string, body?: object, as = member) => as.post(`/${id}/rotate-secret`, body);
  const create = (changes?: object) => service.create(member, changes);
  const shown = async (id: string) => (await member.get(`/${id}`).expect(200)).body;
  const stored = (id: string) =>
    cluster.rows<{ secret_sealed: string | null; previous_secret_sealed: string | null }>(
      'select secret_sealed, previous_secret_sealed from webhook where id = $1',
      [id],
    );
  /** Returns the request of a test event. */
  const delivered = async (id: string): Promise<Received> => {
    const { body } = await member.post(`/${id}/test`, {}).expect(202);
    return eventually(() => {
      const [received] = receiver.requestsOf(body.delivery.id);
      if (!received) throw new Error('nothing came');
      return received;
    });
  };
  const previousOf = ({ headers, ...rest }: Received): Received => ({
    ...rest,
    headers: { ...headers, 'x-service-signature': String(headers['x-service-signature-previous']) },
  });

  it('generates a secret, returns it once and signs with both', async () => {
    const id = await create({ secret: 'the first' });
    const beforeMs = Date.now();
    const response = await rotate(id).expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.body).toEqual({
      id,
      hasSecret: true,
      secretOverlapUntil: expect.stringMatching(/^\d{4}-.*Z$/),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9_-]{43}$/),
      warning: expect.any(String),
    });
    const overlapMs = Date.parse(response.body.secretOverlapUntil) - beforeMs;
    expect(overlapMs).toBeGreaterThanOrEqual(86_400_000);
    expect(overlapMs).toBeLessThan(86_460_000);
    expect(await shown(id)).toMatchObject({
      hasSecret: true,
      secretOverlapUntil: response.body.secretOverlapUntil,
    });
    expect(JSON.stringify(await shown(id))).not.toContain(response.body.secret);
    const received = await delivered(id);
    expect(isSignedWith(response.body.secret, received)).toBe(true);
    expect(isSignedWith('the first', previousOf(received))).toBe(true);
    expect(isSignedWith('the first', received)).toBe(false);
  });

  it('stores a given secret without returning it, in the response or the audit entry', async () => {
    const id = await create({ secret: 'the first' });
    const { body } = await rotate(id, { secret: 'the second', overlapSeconds: 60 }).expect(200);
    expect(body).toEqual({ id, hasSecret: true, secretOverlapUntil: expect.any(String) });
    const trail = await eventually(async () => {
      const rows = await cluster.findAuditEntries(id);
      if (rows.length < 2) throw new Error('not yet');
      return rows.map(({ data }) => data);
    });
    expect(trail.map(({ action }) => action)).toEqual(['webhook.create', 'webhook.secret.rotate']);
    expect(trail[1]).toMatchObject({ details: { isGenerated: false, secretOverlapUntil: body.secretOverlapUntil } });
    expect(JSON.stringify(trail)).not.toMatch(/the first|the second/);
    expect(JSON.stringify(await cluster.rows('select * from webhook where id = $1', [id]))).not.toMatch(
      /the (first|sec)/,
    );
  });

  it('stops signing with the previous secret when its overlap has ended, without a broadcast', async () => {
    const id = await create({ secret: 'the first' });
    await member.patch(`/${id}`, { headers: [{ key: 'X-Spec', value: id }] }).expect(200);
    await rotate(id, { secret: 'the second', overlapSeconds: 30 }).expect(200);
    expect((await delivered(id)).headers).toHaveProperty('x-service-signature-previous');
    // A look may bring a row twice; from the first that does not, none will until the row changes.
    const index = service.app.get(SubscriptionIndexService);
    const known = await eventually(async () => {
      const seen = index.find(id);
      await index.refresh();
      expect(index.find(id)).toBe(seen);
      return seen;
    });
    jest.spyOn(service.app.get(Clock), 'nowMs').mockImplementation(() => Date.now() + 30_000);
    const eventId = await cluster.emit(mine);
    const received = await eventually(() => {
      const found = receiver.received.find(
        ({ headers }) => headers['x-service-event-id'] === eventId && headers['x-spec'] === id,
      );
      if (!found) throw new Error('nothing came');
      return found;
    });
    expect(received.headers).not.toHaveProperty('x-service-signature-previous');
    expect(isSignedWith('the second', received)).toBe(true);
    // The index is as it was: the clock alone has ended the overlap.
    expect(known?.previousSecret).not.toBeNull();
    expect(index.find(id)).toBe(known);
    const caller = organizationCaller(mine);
    const webhooks = service.app.get(WebhooksService);
    expect(await webhooks.get(caller, id)).toMatchObject({ secretOverlapUntil: null, hasSecret: true });
    // The next change drops what is of no use any more.
    expect(await stored(id)).toMatchObject([{ previous_secret_sealed: expect.any(String) }]);
    await webhooks.update(caller, id, { name: 'Renamed' });
    expect(await stored(id)).toMatchObject([{ previous_secret_sealed: null }]);
  });

  it.each([
    ['an overlap of nothing', { secret: 'the first' }, { overlapSeconds: 0 }],
    ['nothing to overlap with', {}, {}],
  ])('has no previous secret with %s', async (_, created, given) => {
    const id = await create(created);
    const { body } = await rotate(id, { secret: 'the second', ...given }).expect(200);
    expect(body).toEqual({ id, hasSecret: true, secretOverlapUntil: null });
    const received = await delivered(id);
    expect(isSignedWith('the second', received)).toBe(true);
    expect(received.headers).not.toHaveProperty('x-service-signature-previous');
  });

  it.each([
    ['replaced', 'the third', true],
    ['removed', null, false],
  ])('ends the overlap when a PATCH has %s the secret', async (_, secret, hasSecret) => {
    const id = await create({ secret: 'the first' });
    await rotate(id, { secret: 'the second' }).expect(200);
    const { body } = await member.patch(`/${id}`, { secret }).expect(200);
    expect(body).toMatchObject({ hasSecret, secretOverlapUntil: null });
    expect(await stored(id)).toMatchObject([{ previous_secret_sealed: null }]);
    const { headers } = await delivered(id);
    expect('x-service-signature' in headers).toBe(hasSecret);
    expect(headers).not.toHaveProperty('x-service-signature-previous');
  });

  it('continues the overlap when a PATCH keeps the secret or sends its mask', async () => {
    const id = await create({ secret: 'the first' });
    const { body } = await rotate(id).expect(200);
    for (const changes of [{ name: 'Renamed' }, { secret: MASK }]) {
      const patched = await member.patch(`/${id}`, changes).expect(200);
      expect(patched.body.secretOverlapUntil).toBe(body.secretOverlapUntil);
    }
    expect(isSignedWith('the first', previousOf(await delivered(id)))).toBe(true);
  });

  it('keeps one previous secret when many rotate at once', async () => {
    const id = await create({ secret: 'the first' });
    const responses = await Promise.all(Array.from({ length: 5 }, () => rotate(id).expect(200)));
    const secrets = responses.map(({ body }) => body.secret as string);
    expect(new Set(secrets).size).toBe(5);
    const received = await delivered(id);
    const current = secrets.filter((secret) => isSignedWith(secret, received));
    const previous = secrets.filter((secret) => isSignedWith(secret, previousOf(received)));
    expect([current.length, previous.length]).toEqual([1, 1]);
    expect(previous).not.toEqual(current);
  });

  it('signs for the Standard Webhooks verifier with either secret', async () => {
    const first = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const id = await create({ secret: first, standardWebhooks: true });
    const { body } = await rotate(id).expect(200);
    const received = await delivered(id);
    const headers = received.headers as Record<string, string>;
    for (const secret of [first, body.secret]) expect(new Webhook(secret).verify(received.body, headers)).toBeTruthy();
    expect(() => new Webhook(first).verify(received.body.replace('{', '{ '), headers)).toThrow();
    expect(headers['webhook-id']).toBe(JSON.parse(received.body).id);
    expect(headers['webhook-id']).toBe(headers['x-service-event-id']);
    const off = await member.patch(`/${id}`, { standardWebhooks: false }).expect(200);
    expect(off.body.standardWebhooks).toBe(false);
    const names = Object.keys((await delivered(id)).headers);
    expect(names.filter((name) => name.startsWith('webhook-'))).toEqual([]);
  });

  it.each([
    ['a negative overlap', { overlapSeconds: -1 }],
    ['an overlap of more than a day', { overlapSeconds: 86_401 }],
    ['an overlap that is text', { overlapSeconds: '60' }],
    ['a null overlap', { overlapSeconds: null }],
    ['an empty secret', { secret: '' }],
    ['a null secret', { secret: null }],
    ['a secret that is too long', { secret: 's'.repeat(256) }],
    ['a mask for a secret', { secret: MASK }],
    ['an unknown field', { overlap: 60 }],
  ])('refuses %s', async (_, body) => {
    const id = await create({ secret: 'the first' });
    expect((await rotate(id, body).expect(400)).body.code).toBe('validation_failed');
    expect(await stored(id)).toMatchObject([{ previous_secret_sealed: null }]);
  });

  it('refuses readers, other tenants and anonymous requests', async () => {
    const id = await create();
    const reader = service.member(mine, ['organizations:read']);
    const refused = await rotate(id, {}, reader).expect(403);
    expect(refused.body).toMatchObject({ code: 'permission_denied', required: ['organizations:write'] });
    const stranger = service.member(await cluster.organization());
    for (const [as, target] of [
      [stranger, id],
      [member, randomUUID()],
      [member, 'not-a-uuid'],
    ] as const) {
      const response = await rotate(target, {}, as).expect(404);
      expect(response.body).toMatchObject({ code: 'not_found', error: 'Webhook not found' });
    }
    await service.anonymous.post(`/${id}/rotate-secret`, {}).expect(401);
    expect(await shown(id)).toMatchObject({ hasSecret: false });
  });
});
