// ./fleet bench webhooks-history: the lists of one webhook with 5,000,000 deliveries, a million of them dead letters, and how
// long its deletion takes. `--size` sets the number of deliveries.
import { storeHistoryOf } from '../support/delivery-history.mjs';
import { openStores, DispatcherApp } from '../support/dispatcher-app.mjs';
import { isQuick, isSelected, sizeOr } from '../support/options.mjs';
import { median, report, target } from '../support/report.mjs';
import { percentile } from '../support/webhook-message.mjs';

const DELIVERIES = sizeOr(isQuick ? 200_000 : 5_000_000);
const TYPES = { usual: 'device.enrolled', rare: 'alert.triggered', missing: 'webhook.test' };
const WARM_UP_CALLS = 6; // PostgreSQL plans a prepared statement for its values five times
const ROUNDS = 4;
const CALLS = 10;
const PAGE_ROWS = 50;
/** The last numbered page: it begins within the first 10,000 rows. */
const DEEP_PAGE = 10_000 / PAGE_ROWS;
/** Rows before the deep pages by cursor. */
const DEEP_ROWS = Math.min(100_000, Math.floor((0.9 * DELIVERIES) / 5));
const WANTED_MS = 100;

const LISTS = {
  'history, first page': '/:id/deliveries?',
  'history, deep page': `/:id/deliveries?page=${DEEP_PAGE}`,
  'history, delivered': '/:id/deliveries?status=delivered',
  'history, failed': '/:id/deliveries?status=failed',
  'history, failed, deep page': `/:id/deliveries?status=failed&page=${DEEP_PAGE}`,
  'history, by cursor': '/:id/deliveries?cursor=',
  'history, by cursor, deep': '/:id/deliveries?cursor=:deep',
  'history, failed, by cursor, deep': '/:id/deliveries?status=failed&cursor=:deep',
  'history, retrying': '/:id/deliveries?status=retrying',
  'history, pending: none': '/:id/deliveries?status=pending',
  'history, usual event type': `/:id/deliveries?event=${TYPES.usual}`,
  'history, rare event type': `/:id/deliveries?event=${TYPES.rare}`,
  'history, event type of none': `/:id/deliveries?event=${TYPES.missing}`,
  'history, rare event type, failed': `/:id/deliveries?event=${TYPES.rare}&status=failed`,
  'dead letters, first page': '/dead-letters?webhookId=:id',
  'dead letters, deep page': `/dead-letters?webhookId=:id&page=${DEEP_PAGE}`,
  'dead letters, by cursor, deep': '/dead-letters?webhookId=:id&cursor=:deep',
  'dead letters, all webhooks': '/dead-letters?',
  'another webhook, history': '/:other/deliveries?',
  'another webhook, rare event type': `/:other/deliveries?event=${TYPES.rare}`,
  'another webhook, dead letters': '/dead-letters?webhookId=:other',
};
/** Deliveries of the other webhook of the organization. */
const OTHER_DELIVERIES = 20;

const stores = await openStores();
let dispatcher;
try {
  dispatcher = await DispatcherApp.open(stores);
  const [{ orgId, partnerId }] = await dispatcher.addOrganizations(1, () => [
    'http://127.0.0.1:9/a',
    'http://127.0.0.1:9/b',
  ]);
  const { rows } = await dispatcher.admin.query('select id from webhook where org_id = $1', [orgId]);
  const [id, other] = rows.map((row) => row.id);
  await storeHistoryOf(dispatcher.admin, other, OTHER_DELIVERIES, TYPES);
  const startedAt = performance.now();
  await storeHistoryOf(dispatcher.admin, id, DELIVERIES, TYPES);
  const storedSeconds = (performance.now() - startedAt) / 1_000;
  const callers = {
    partner: await dispatcher.identity.signIn({ partnerId }),
    organization: await dispatcher.identity.signIn({ scope: 'organization', partnerId, orgId }),
  };
  const arms = [];
  for (const [name, path] of Object.entries(LISTS)) {
    if (!isSelected(name)) continue;
    for (const [caller, token] of Object.entries(callers)) {
      const list = path.replace(':id', id).replace(':other', other);
      const isDeep = list.includes(':deep');
      arms.push(
        await measure(name, caller, isDeep ? list.replace(':deep', await cursorBehind(list, token)) : list, token),
      );
    }
  }
  print(arms, await measureDelete(id, callers.partner), storedSeconds);
} finally {
  await dispatcher?.close({ kill: true });
  await stores.stop();
}

/** @returns the cursor of the page behind `DEEP_ROWS` rows */
async function cursorBehind(list, token) {
  let cursor = '';
  for (let read = 0; read < DEEP_ROWS; read += 100) {
    ({ nextCursor: cursor } = (await send('GET', `${list.replace(':deep', cursor)}&limit=100`, token)).pagination);
  }
  return cursor;
}

/** @returns the median of the best round, which other work on the machine disturbs least, and p95 of all calls */
async function measure(list, caller, url, token) {
  const rounds = [];
  let body;
  for (let i = 0; i < WARM_UP_CALLS; i++) body = await send('GET', url, token);
  for (let round = 0; round < ROUNDS; round++) rounds.push(await timesOf(() => send('GET', url, token)));
  const all = rounds.flat().sort((a, b) => a - b);
  const { total = null, totalCapped = false } = body.pagination;
  return {
    ...{ list, caller, ms: Math.min(...rounds.map(median)), 'p95 ms': percentile(all, 0.95), 'max ms': all.at(-1) },
    ...{ rows: body.data.length, total, totalCapped },
  };
}

async function timesOf(call) {
  const times = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await call();
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** @returns milliseconds until the response */
async function measureDelete(id, token) {
  const startedAt = performance.now();
  await send('DELETE', `/${id}`, token);
  return performance.now() - startedAt;
}

async function send(method, path, token) {
  const response = await fetch(`http://127.0.0.1:${dispatcher.replicas[0].port}/api/v1/webhooks${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  });
  const body = await response.json();
  if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(body)}`);
  return body;
}

function print(arms, deleteMs, storedSeconds) {
  report(
    {
      name: 'webhooks-history',
      arms,
      targets: [
        ...arms.map((arm) => target(`${arm.list}, ${arm.caller}, ms`, arm.ms, '<=', WANTED_MS)),
        target('delete the webhook, ms', deleteMs, '<=', WANTED_MS),
      ],
      notes: [
        `One webhook with ${DELIVERIES.toLocaleString('en')} deliveries of 20 days, a fifth of them failed and dead letters, ` +
          `1 of 997 of the rare event type, 1,000 that are retried; stored and indexed in ${storedSeconds.toFixed(0)} s. ` +
          `Requests through the API of one dispatcher, ${ROUNDS * CALLS} of each kind, one after the other; "ms" is the median of ten in the best round.`,
        `"Deep" is page ${DEEP_PAGE.toLocaleString('en')} of ${PAGE_ROWS}, by cursor behind ${DEEP_ROWS.toLocaleString('en')} rows. Totals are counted up to 10,000 rows. Another webhook of the organization has ${OTHER_DELIVERIES}.`,
      ],
    },
    process.argv,
  );
}
