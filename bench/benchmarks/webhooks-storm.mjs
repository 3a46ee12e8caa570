// ./fleet bench webhooks-storm: 100,000 retries that are due at once, as after an outage: how long they take, and what new
// events notice of them.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { isQuick } from '../support/quick.mjs';
import { report, target } from '../support/report.mjs';
import { QUIET_TENANTS, QuietTenants } from '../support/quiet-tenants.mjs';
import { eventData } from '../support/webhook-message.mjs';
import { EVENT_TYPE, openStores, WebhookWorld } from '../support/dispatcher-app.mjs';

const ORIGINS = 20;
const ORGANIZATIONS = 5;
const STORM = isQuick ? 20_000 : 100_000;
const BEFORE_SECONDS = isQuick ? 3 : 8;
/** Time to store them before they are due: what storing costs is not the storm. */
const STORING_SECONDS = isQuick ? 10 : 40;
const GIVE_UP_MS = 180_000;

/** Deliveries that have failed once, of events of some minutes ago: held by nobody, and due at one moment soon. */
const STORE = `
  with event as materialized (
    select w.org_id, w.partner_id, gen_random_uuid()::text as id,
           date_trunc('milliseconds', now()) - interval '3 minutes' - n * interval '1 ms' as at
      from (select distinct org_id, partner_id from webhook where org_id = any ($1)) w, generate_series(1, $2::int) n
  ), bodies as (
    insert into event_body (event_id, created_at, partner_id, org_id, body)
    select id, at, partner_id, org_id, $3 from event
  ), made as (
    insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt, max_attempts, due_at)
    select gen_random_uuid(), e.at, e.partner_id, e.org_id, w.id, $4, e.id, 'retrying', 1, 6,
           now() + make_interval(secs => $5)
      from event e join webhook w on w.org_id = e.org_id
  )
  update webhook_counter set total = total + $2::int, retrying = retrying + $2::int where org_id = any ($1)`;

const receiver = new BenchServer('webhook-receiver.mjs', { args: [String(ORIGINS)] });
const stores = await openStores();
let world;

try {
  await receiver.ready();
  world = await WebhookWorld.open(stores);
  const quiet = await QuietTenants.open(world, receiver);
  const urls = receiver.ports.map((port) => `http://127.0.0.1:${port}/ok/storm`);
  const stormy = await world.addOrganizations(ORGANIZATIONS, () => urls);
  await quiet.measure(1);
  const before = await quiet.measure(BEFORE_SECONDS);
  await storeRetries(stormy);
  const storm = {};
  const during = await quiet.measureDuring(async () => Object.assign(storm, await rage(stormy)));
  print(before, during, storm);
} finally {
  await world?.close({ kill: true });
  await receiver.stop();
  await stores.stop();
}

/** Ends half a second before they are due. */
async function storeRetries(stormy) {
  const orgIds = stormy.map(({ orgId }) => orgId);
  const body = JSON.stringify({ id: randomUUID(), type: EVENT_TYPE, data: { ...eventData(), at: undefined } });
  const events = STORM / ORGANIZATIONS / ORIGINS;
  const dueAt = performance.now() + STORING_SECONDS * 1_000;
  await world.admin.query(STORE, [orgIds, events, body, EVENT_TYPE, STORING_SECONDS]);
  const leftMs = dueAt - performance.now() - 500;
  if (leftMs < 0) throw new Error(`storing ${STORM} retries took longer than ${STORING_SECONDS} s`);
  await sleep(leftMs);
}

/** From just before they are due to the last outcome. */
async function rage(stormy) {
  const orgIds = stormy.map(({ orgId }) => orgId);
  const [startedAt, cpu] = [performance.now(), world.cpu()];
  while ((await deliveredOf(orgIds)) < STORM) {
    await sleep(50);
    if (performance.now() - startedAt > GIVE_UP_MS) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const spent = Object.entries(world.cpu()).map(([name, micros]) => [name, (micros - cpu[name]) / STORM]);
  const { storm } = (await receiver.ask('peeked')).groups;
  return { seconds, delivered: await deliveredOf(orgIds), cpu: Object.fromEntries(spent), ...storm };
}

async function deliveredOf(orgIds) {
  const { rows } = await world.admin.query(
    'select sum(delivered)::int as n from webhook_counter where org_id = any ($1)',
    [orgIds],
  );
  return rows[0].n;
}

function print(before, during, storm) {
  const row = (name, { published, p50Ms, p95Ms, p99Ms, maxMs }) => ({
    'new events': name,
    published,
    'p50 ms': p50Ms,
    'p95 ms': p95Ms,
    'p99 ms': p99Ms,
    'max ms': maxMs,
  });
  const micros = Object.entries(storm.cpu).map(([name, each]) => `${name} ${each.toFixed(0)}`);
  report(
    {
      name: 'webhooks-storm',
      arms: [row('before', before), row('during', during)],
      targets: [
        target('p99 of new events during, ms', during.p99Ms, '<=', Math.max(2 * before.p99Ms, before.p99Ms + 50)),
        target(`retries not delivered, of ${STORM.toLocaleString('en')}`, STORM - storm.distinct, '<=', 0),
        target('retries doubled', storm.received - storm.distinct, '<=', 0),
        target('new events missing', before.missing + during.missing, '<=', 0),
      ],
      notes: [
        `${STORM.toLocaleString('en')} retries, due at once, to ${ORIGINS} receivers that are well again: drained in ` +
          `${storm.seconds.toFixed(1)} s, ${Math.round(storm.delivered / storm.seconds).toLocaleString('en')}/s. CPU in µs ` +
          `for each, new events included: ${micros.join(', ')}.`,
        `New events: ${QUIET_TENANTS} tenants with 2 a second each, from publish to receipt. One dispatcher.`,
      ],
    },
    process.argv,
  );
}
