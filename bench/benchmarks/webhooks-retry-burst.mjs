// ./fleet bench webhooks-retry-burst: 100,000 retries that are due at once, as after an outage: how long they take, and
// their effect on new events.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { EVENT_TYPE, openStores, DispatcherApp } from '../support/dispatcher-app.mjs';
import { isQuick } from '../support/options.mjs';
import { QUIET_TENANTS, QuietTenants } from '../support/quiet-tenants.mjs';
import { report, target } from '../support/report.mjs';
import { eventData } from '../support/webhook-message.mjs';

const ORIGINS = 20;
const ORGANIZATIONS = 5;
const RETRIES = isQuick ? 20_000 : 100_000;
const BEFORE_SECONDS = isQuick ? 3 : 8;
/** Time to store them before they are due: storing is not part of the burst. */
const STORING_SECONDS = isQuick ? 10 : 40;
const GIVE_UP_MS = 180_000;

/** Inserts deliveries of old events that failed once, are not leased, and become due at the same moment. */
const STORE = `
  with event as materialized (
    select w.org_id, w.partner_id, gen_random_uuid()::text as id,
           date_trunc('milliseconds', now()) - interval '3 minutes' - n * interval '1 ms' as at
      from (select distinct org_id, partner_id from webhook where org_id = any ($1)) w, generate_series(1, $2::int) n
  ), bodies as (
    insert into event_body (event_id, created_at, partner_id, org_id, body)
    select id, at, partner_id, org_id, $3 from event
  ), generated as (
    insert into delivery (id, created_at, partner_id, org_id, webhook_id, event_type, event_id, status, attempt, max_attempts, due_at)
    select gen_random_uuid(), e.at, e.partner_id, e.org_id, w.id, $4, e.id, 'retrying', 1, 6,
           now() + make_interval(secs => $5)
      from event e join webhook w on w.org_id = e.org_id
  )
  update webhook_counter set total = total + $2::int, retrying = retrying + $2::int where org_id = any ($1)`;

const receiver = new BenchServer('webhook-receiver.mjs', { args: [String(ORIGINS)] });
const stores = await openStores();
let dispatcher;

try {
  await receiver.ready();
  dispatcher = await DispatcherApp.open(stores);
  const quiet = await QuietTenants.open(dispatcher, receiver);
  const urls = receiver.ports.map((port) => `http://127.0.0.1:${port}/ok/burst`);
  const retried = await dispatcher.addOrganizations(ORGANIZATIONS, () => urls);
  await quiet.measure(1);
  const before = await quiet.measure(BEFORE_SECONDS);
  await storeRetries(retried);
  const burst = {};
  const during = await quiet.measureDuring(async () => Object.assign(burst, await drain(retried)));
  print(before, during, burst);
} finally {
  await dispatcher?.close({ kill: true });
  await receiver.stop();
  await stores.stop();
}

/** Stores the retries; resolves half a second before they are due. */
async function storeRetries(retried) {
  const orgIds = retried.map(({ orgId }) => orgId);
  const body = JSON.stringify({ id: randomUUID(), type: EVENT_TYPE, data: { ...eventData(), at: undefined } });
  const events = RETRIES / ORGANIZATIONS / ORIGINS;
  const dueAt = performance.now() + STORING_SECONDS * 1_000;
  await dispatcher.admin.query(STORE, [orgIds, events, body, EVENT_TYPE, STORING_SECONDS]);
  const leftMs = dueAt - performance.now() - 500;
  if (leftMs < 0) throw new Error(`storing ${RETRIES} retries took longer than ${STORING_SECONDS} s`);
  await sleep(leftMs);
}

/** Measures from just before they are due to the last outcome. */
async function drain(retried) {
  const orgIds = retried.map(({ orgId }) => orgId);
  const [startedAt, cpu] = [performance.now(), dispatcher.cpu()];
  while ((await deliveredOf(orgIds)) < RETRIES) {
    await sleep(50);
    if (performance.now() - startedAt > GIVE_UP_MS) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  const spent = Object.entries(dispatcher.cpu()).map(([name, micros]) => [name, (micros - cpu[name]) / RETRIES]);
  const { burst } = (await receiver.ask('peeked')).groups;
  return { seconds, delivered: await deliveredOf(orgIds), cpu: Object.fromEntries(spent), ...burst };
}

async function deliveredOf(orgIds) {
  const { rows } = await dispatcher.admin.query(
    'select sum(delivered)::int as n from webhook_counter where org_id = any ($1)',
    [orgIds],
  );
  return rows[0].n;
}

function print(before, during, burst) {
  const row = (name, { published, p50Ms, p95Ms, p99Ms, maxMs }) => ({
    'new events': name,
    published,
    'p50 ms': p50Ms,
    'p95 ms': p95Ms,
    'p99 ms': p99Ms,
    'max ms': maxMs,
  });
  const micros = Object.entries(burst.cpu).map(([name, each]) => `${name} ${each.toFixed(0)}`);
  report(
    {
      name: 'webhooks-retry-burst',
      arms: [row('before', before), row('during', during)],
      targets: [
        target('p99 of new events during, ms', during.p99Ms, '<=', Math.max(2 * before.p99Ms, before.p99Ms + 50)),
        target(`retries not delivered, of ${RETRIES.toLocaleString('en')}`, RETRIES - burst.distinct, '<=', 0),
        target('retries doubled', burst.received - burst.distinct, '<=', 0),
        target('new events missing', before.missing + during.missing, '<=', 0),
      ],
      notes: [
        `${RETRIES.toLocaleString('en')} retries, due at once, to ${ORIGINS} receivers that are well again: drained in ` +
          `${burst.seconds.toFixed(1)} s, ${Math.round(burst.delivered / burst.seconds).toLocaleString('en')}/s. CPU in µs ` +
          `for each, new events included: ${micros.join(', ')}.`,
        `New events: ${QUIET_TENANTS} tenants with 2 a second each, from publish to receipt. One dispatcher.`,
      ],
    },
    process.argv,
  );
}
