import { createOrganization, eventually } from '@rmm/testing';
import { EventPublisher } from '../outages/event-publisher.js';
import { createWebhook, readMetric } from '../steps.js';
import { query } from '../tenancy/tenant-state.js';
import { eventsFor } from '../webhooks/webhook-tenants.js';
import { AlertDrill, describeDrills, PATIENCE } from './alert-drill.js';

jest.setTimeout(600_000);

/** Ten minutes divided by this are longer than the drill freezes a replica. */
const PERIOD_DIVISOR = 20;
const PARTITIONS = 1_024;
const WEBHOOKS_EACH = 25;
const EVENTS = 15;
/** More than a webhook keeps in memory: the others wait in the table. */
const MANY_EVENTS = 80;
/** Longer than the others wait for a frozen replica, shorter than the time limit of an attempt. */
const SLOW_MS = 28_000;

/** Returns statements by which a replica cannot renew its registration. */
const refuseReplica = (id: string): string => `
  CREATE FUNCTION webhook_dispatcher.refuse_replica() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.id = '${id}' THEN RAISE 'this replica is not registered in the drill'; END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER refuse_replica BEFORE INSERT OR UPDATE ON webhook_dispatcher.dispatcher_replica
    FOR EACH ROW EXECUTE FUNCTION webhook_dispatcher.refuse_replica()`;
const ACCEPT_REPLICAS = 'DROP FUNCTION webhook_dispatcher.refuse_replica() CASCADE';

/** Stores a delivery of some age that waits for another day. */
const STORE_WAITING = `
  WITH old AS (
    INSERT INTO webhook_dispatcher.delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt,
                                             max_attempts, due_at)
    SELECT gen_random_uuid(), now() - $2::interval, partner_id, org_id, id, 'alert.triggered', gen_random_uuid()::text,
           'retrying', 1, 6, now() + INTERVAL '1 day'
    FROM webhook_dispatcher.webhook WHERE id = $1
    RETURNING webhook_id
  )
  UPDATE webhook_dispatcher.webhook_counter SET total = total + 1, retrying = retrying + 1
  WHERE webhook_id IN (SELECT webhook_id FROM old)`;
/** Retention is 30 days: the first fails within three days, the second when a replica starts. */
const AGES = ['28 days', '29 days 12 hours'];

describeDrills('the alerts of two replicas of the webhook dispatcher', () => {
  let drill: AlertDrill;

  beforeAll(async () => {
    drill = await AlertDrill.start(['--replicas', 'webhook-dispatcher=2'], PERIOD_DIVISOR);
  });
  afterAll(() => drill?.stop());
  afterEach(async () => {
    await drill.closeReceivers();
    await drill.resume();
  });

  /** Creates organizations whose webhooks share the URLs, and publishes events for each webhook. */
  async function sendTo(urls: readonly string[], organizations: number, events = EVENTS): Promise<void> {
    const tenants: string[] = [];
    for (let n = 0; n < organizations; n++) {
      const { orgId } = await createOrganization(drill.partner.client);
      tenants.push(orgId);
      for (let i = 0; i < WEBHOOKS_EACH; i++) {
        const url = urls[i % urls.length];
        await createWebhook(drill.partner.client, orgId, { url, events: ['alert.triggered'] });
      }
    }
    const owners = tenants.map((orgId) => ({ orgId, webhookIds: [] }));
    await new EventPublisher(drill.fleet.handle).publishAll(eventsFor(owners, events));
  }

  const portOf = (replica: number) =>
    drill.fleet.handle.services.find(({ name }) => name === 'webhook-dispatcher')?.instances[replica]?.port;

  it('report outcomes of a replica that was frozen', async () => {
    const slow = await Promise.all(Array.from({ length: 5 }, () => drill.receive({ afterMs: SLOW_MS })));
    await sendTo(slow, 12);
    await eventually(async () => expect(await readMetric(portOf(0), 'rmm_webhook_in_flight')).toBeGreaterThan(150));
    await drill.signal('webhook-dispatcher', 'SIGSTOP', 0);
    await eventually(
      async () => expect(await readMetric(portOf(1), 'rmm_webhook_partitions_owned')).toBe(PARTITIONS),
      PATIENCE,
    );
    await drill.signal('webhook-dispatcher', 'SIGCONT', 0);
    await drill.expectAlerts(['WebhookOutcomesDiscarded']);
  });

  it('report receivers that fail or pause their webhooks', async () => {
    const pausing = await drill.receive({ status: 429, headers: { 'retry-after': '60' } });
    await sendTo(['http://127.0.0.1:1/closed', pausing, pausing, pausing, pausing], 6);
    await drill.expectAlerts(['WebhookCircuitBreakersOpen', 'WebhooksPausedByReceivers']);
  });

  it('report webhooks that wait for the limits of a receiver that hangs', async () => {
    await sendTo([await drill.receive({ afterMs: Infinity })], 8, MANY_EVENTS);
    await drill.expectAlerts(['WebhooksWaitForLimits', 'WebhookDeliveriesDelayed']);
  });

  it('report a replica that owns no partition', async () => {
    const [{ id }] = await query<{ id: string }>(
      drill.fleet.handle,
      'SELECT id FROM webhook_dispatcher.dispatcher_replica LIMIT 1',
    );
    await query(drill.fleet.handle, refuseReplica(id));
    try {
      await drill.expectAlerts(['WebhookReplicaWithoutPartitions']);
    } finally {
      await query(drill.fleet.handle, ACCEPT_REPLICAS);
    }
    await drill.untilOver('WebhookReplicaWithoutPartitions', 'WebhookPartitionsWithoutOwner');
  });

  it('report deliveries that wait for weeks, and those that have failed for it', async () => {
    const { id } = await createWebhook(drill.partner.client, drill.orgId, { url: await drill.receive() });
    for (const age of AGES) await query(drill.fleet.handle, STORE_WAITING, [id, age]);
    await drill.signal('webhook-dispatcher', 'SIGKILL'); // the jobs run a minute after a start, later only each hour
    await drill.expectAlerts(['WebhookDeliveriesExpireSoon', 'WebhookDeliveriesExpired']);
  });

  it('report webhooks that cannot be opened', async () => {
    const { id } = await createWebhook(drill.partner.client, drill.orgId, { url: await drill.receive() });
    await query(
      drill.fleet.handle,
      `UPDATE webhook_dispatcher.webhook SET url_sealed = replace(url_sealed, 'dev-1', 'lost') WHERE id = $1`,
      [id],
    );
    await drill.signal('webhook-dispatcher', 'SIGKILL'); // it opens them when it starts
    await drill.expectAlerts(['WebhooksUndecipherable']);
  });
});
