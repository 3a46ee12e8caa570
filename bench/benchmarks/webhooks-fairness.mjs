// ./fleet bench webhooks-fairness: the effect on the webhooks of quiet tenants of what other webhooks do: hang, fail,
// drip, refuse or be fast with many deliveries or large events, hang in the same organization, at the same origin, or in many
// organizations.
// `--arms` selects cases. `--long` runs each with one dispatcher, with three, and while one is added and one killed.
import getPort from 'get-port';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { openStores, DispatcherApp } from '../support/dispatcher-app.mjs';
import { DispatcherWatch } from '../support/dispatcher-watch.mjs';
import { isLong, isQuick, isSelected } from '../support/options.mjs';
import { QuietTenants } from '../support/quiet-tenants.mjs';
import { report, target } from '../support/report.mjs';

const ORIGINS = 20;
const NOISY_WEBHOOKS = 20;
const NOISE = isLong ? 50_000 : 10_000;
const WARM_UP_SECONDS = 3;
const BEFORE_SECONDS = isLong ? 8 : 3;
/** With `--long` long enough for the attempts at receivers that hang, 30 s each, to end. */
const DURING_SECONDS = isQuick ? 5 : isLong ? 60 : 12;
const STORED_MS = 30_000;
const STORED_LARGE_MS = 60_000;
/** A rate that fills any share of memory of a webhook that hangs within seconds. */
const SIBLING_PER_SECOND = 60;
const SIBLING_SECONDS = isLong ? 60 : 25;
const ONE_ORIGIN = { organizations: 150, each: 300, quiet: 20 };
const REFUSING = { organizations: isLong ? 100 : 50, webhooks: 20, each: isLong ? 30 : 20, quiet: 20 };
/** Random bytes, which PostgreSQL cannot compress. `window` are on their way to the stream at a time. */
const LARGE = { events: isQuick ? 400 : 4_000, bytes: 240_000, window: 32, limitMs: 60_000, quiet: 20, maxHeapMb: 400 };
/** Ways to run a case: the number of dispatchers, and what happens to them in the middle. */
const ONE = { suffix: '', replicas: 1 };
const THREE = { suffix: ' (3 replicas)', replicas: 3 };
const CHANGING = { suffix: ' (replicas change)', replicas: 3, disturb: addAndKill };
const WAYS = isLong ? [ONE, THREE, CHANGING] : [ONE];

const CASES = [
  manyDeliveries('one tenant: hangs', () => `${noisyUrl}/hang/noisy`),
  manyDeliveries('one tenant: responds 500', () => `${noisyUrl}/fail/noisy`),
  manyDeliveries('one tenant: drips', () => `${noisyUrl}/drip/noisy`),
  manyDeliveries('one tenant: refuses', () => `http://127.0.0.1:${closedPort}/ok/noisy`),
  manyDeliveries('one tenant: is fast', () => `${noisyUrl}/ok/noisy`),
  {
    name: 'sibling: hangs',
    seconds: SIBLING_SECONDS,
    quiet: (dispatcher) => QuietTenants.open(dispatcher, receiver, { count: 1, perTenant: SIBLING_PER_SECOND }),
    // The events of the quiet webhook are those of the one that hangs: its backlog grows while it is measured.
    noise: async (dispatcher, quiet) => {
      await dispatcher.addWebhooks(quiet.tenants, () => [`${noisyUrl}/hang/noisy`]);
      return { organizations: quiet.tenants, deliveries: 0 };
    },
  },
  {
    name: 'one origin: hangs for 150 tenants',
    quiet: (dispatcher) => QuietTenants.open(dispatcher, receiver, { count: ONE_ORIGIN.quiet }),
    noise: async (dispatcher) => {
      const organizations = await dispatcher.addOrganizations(ONE_ORIGIN.organizations, () => [
        `${noisyUrl}/hang/noisy`,
      ]);
      const deliveries = ONE_ORIGIN.organizations * ONE_ORIGIN.each;
      return { organizations, deliveries, publish: () => dispatcher.publishAll(organizations, deliveries) };
    },
  },
  {
    name: 'same origin: hangs for another tenant',
    quiet: (dispatcher) => QuietTenants.open(dispatcher, noisyReceiver, { count: 10 }),
    noise: async (dispatcher) => {
      const organizations = await dispatcher.addOrganizations(1, () => [1, 2].map((n) => `${noisyUrl}/hang/noisy${n}`));
      return { organizations, deliveries: 1_000, publish: () => dispatcher.publishAll(organizations, 500) };
    },
  },
  {
    name: 'retries: of receivers that refuse',
    quiet: (dispatcher) => QuietTenants.open(dispatcher, receiver, { count: REFUSING.quiet, behavior: 'once' }),
    noise: async (dispatcher) => {
      const { webhooks, each } = REFUSING;
      const organizations = await dispatcher.addOrganizations(REFUSING.organizations, (org) =>
        Array.from({ length: webhooks }, (_, n) => `http://127.9.${org}.${n + 1}:${closedPort}/`),
      );
      const events = REFUSING.organizations * each;
      return {
        organizations,
        deliveries: events * webhooks,
        publish: () => dispatcher.publishAll(organizations, events),
      };
    },
  },
  largeEvents('large events: to one tenant', 1, 'ok'),
  largeEvents('large events: to eight tenants that hang', 8, 'hang'),
]
  .flatMap((each) => WAYS.map((way) => ({ ...each, ...way, name: each.name + way.suffix })))
  .filter(({ name }) => isSelected(name));

const receiver = new BenchServer('webhook-receiver.mjs', { args: [String(ORIGINS)] });
const noisyReceiver = new BenchServer('webhook-receiver.mjs');
const closedPort = await getPort({ host: '127.0.0.1' });
const stores = await openStores();
let noisyUrl;

try {
  await Promise.all([receiver.ready(), noisyReceiver.ready()]);
  noisyUrl = `http://127.0.0.1:${noisyReceiver.port}`;
  const rows = [];
  for (const each of CASES) rows.push(await run(each));
  print(rows);
} finally {
  await Promise.all([receiver.stop(), noisyReceiver.stop()]);
  await stores.stop();
}

/** One tenant with many deliveries at once, all at one receiver; 99 quiet tenants. */
function manyDeliveries(name, url) {
  return {
    name,
    quiet: (dispatcher) => QuietTenants.open(dispatcher, receiver),
    noise: async (dispatcher) => {
      const organizations = await dispatcher.addOrganizations(1, () => Array.from({ length: NOISY_WEBHOOKS }, url));
      const publish = () => dispatcher.publishAll(organizations, NOISE / NOISY_WEBHOOKS);
      return { organizations, deliveries: NOISE, publish };
    },
  };
}

/** Thousands of events of 240 KB in one burst. They are measured while they arrive, too. */
function largeEvents(name, organizations, behavior) {
  return {
    name,
    isLarge: true,
    storedMs: STORED_LARGE_MS,
    quiet: (dispatcher) => QuietTenants.open(dispatcher, receiver, { count: LARGE.quiet }),
    noise: async (dispatcher) => {
      const tenants = await dispatcher.addOrganizations(organizations, () => [`${noisyUrl}/${behavior}/noisy`]);
      const options = {
        data: { note: randomBytes((LARGE.bytes * 3) / 4).toString('base64') },
        publisher: await dispatcher.connectPublisher(),
        window: LARGE.window,
        limitMs: LARGE.limitMs,
      };
      const noise = { organizations: tenants };
      noise.publish = async () => (noise.deliveries = await dispatcher.publishAll(tenants, LARGE.events, options));
      return noise;
    },
  };
}

/** Adds a dispatcher after a third of the time, and kills one after two thirds. */
async function addAndKill(dispatcher, seconds) {
  const third = sleep((seconds * 1_000) / 3);
  const twoThirds = sleep((seconds * 2_000) / 3);
  await third;
  await dispatcher.startReplica();
  await twoThirds;
  dispatcher.killReplica();
}

/** Runs one case with new dispatchers. */
async function run({ quiet: openQuiet, noise: createNoise, seconds = DURING_SECONDS, storedMs, ...options }) {
  const { name, replicas, disturb, isLarge = false } = options;
  const dispatcher = await DispatcherApp.open(stores, { replicas });
  const watch = new DispatcherWatch(dispatcher);
  try {
    const quiet = await openQuiet(dispatcher);
    await quiet.measure(WARM_UP_SECONDS);
    const before = await quiet.measure(BEFORE_SECONDS);
    const noise = await createNoise(dispatcher, quiet);
    const arriving = await quiet.measureDuring(() => publish(dispatcher, noise, storedMs));
    const during = await quiet.measureDuring(() =>
      Promise.all([sleep(seconds * 1_000), disturb?.(dispatcher, seconds)]),
    );
    return {
      name,
      before,
      arriving,
      during,
      noise: await statsOf(dispatcher, noise),
      watched: await watch.stop(),
      isDisturbed: disturb !== undefined,
      isLarge,
    };
  } finally {
    await watch.stop().catch(() => undefined);
    await dispatcher.close({ kill: true });
    await Promise.all([receiver.ask('taken'), noisyReceiver.ask('taken')]);
  }
}

/** Publishes the events of the noisy tenants, and waits until their deliveries are stored. */
async function publish(dispatcher, noise, storedMs = STORED_MS) {
  await (noise.publish ?? (() => sleep(1_000)))();
  const startedAt = performance.now();
  while ((await statsOf(dispatcher, noise)).stored < noise.deliveries && performance.now() - startedAt < storedMs)
    await sleep(100);
}

async function statsOf(dispatcher, { organizations }) {
  const { rows } = await dispatcher.admin.query(
    'select sum(total)::int as stored, sum(delivered + failed)::int as ended from webhook_counter where org_id = any ($1)',
    [organizations.map(({ orgId }) => orgId)],
  );
  return rows[0];
}

function print(cases) {
  const arms = cases.map(({ name, before, arriving, during, noise, watched }) => ({
    case: name,
    'before p50': before.p50Ms,
    'before p99': before.p99Ms,
    'arriving p50': arriving.p50Ms,
    'arriving p99': arriving.p99Ms,
    'queued p50': during.p50Ms,
    'queued p99': during.p99Ms,
    'queued max': during.maxMs,
    published: arriving.published + during.published,
    missing: arriving.missing + during.missing,
    doubled: arriving.received + during.received - arriving.distinct - during.distinct,
    'noise stored': noise.stored,
    'noise ended': noise.ended,
    'heap max MB': watched.heapMb,
    'RSS max MB': watched.rssMb,
    'cut by NATS': watched.cuts,
  }));
  const bar = ({ before }) => Math.max(2 * before.p99Ms, before.p99Ms + 50);
  report(
    {
      name: 'webhooks-fairness',
      arms,
      targets: [
        ...cases.map((each) => target(`p99, ${each.name}, ms`, each.during.p99Ms, '<=', bar(each))),
        ...cases
          .filter(({ isLarge }) => isLarge)
          .flatMap((each) => [
            target(`p99 while they arrive, ${each.name}, ms`, each.arriving.p99Ms, '<=', bar(each)),
            target(`heap, ${each.name}, MB`, each.watched.heapMb, '<=', LARGE.maxHeapMb),
          ]),
        target('dispatchers cut by NATS', sumOf(arms, 'cut by NATS'), '<=', 0),
        target('quiet events missing', sumOf(arms, 'missing'), '<=', 0),
        target(
          'quiet events doubled',
          sumOf(
            arms.filter((_, n) => !cases[n].isDisturbed),
            'doubled',
          ),
          '<=',
          0,
        ),
      ],
      notes: [
        `Times from publish to receipt in ms. "Arriving" is until all deliveries of the noise are stored, "queued" the ` +
          `${DURING_SECONDS} seconds from then on. One dispatcher unless the name says more, and new ones for each case. ` +
          '"(replicas change)": one is added after a third of the time, one killed after two thirds; what it had in flight ' +
          'is sent twice. Measured next to whatever else this machine does: compare figures of one run only.',
        `"One tenant": ${NOISY_WEBHOOKS} webhooks at one receiver, ${NOISE.toLocaleString('en')} deliveries; 99 quiet ` +
          `tenants, 2 events a second each. "Sibling": one organization, ${SIBLING_PER_SECOND} events a second, with a ` +
          `webhook that is measured and one that hangs. "One origin": ${ONE_ORIGIN.organizations} organizations with ` +
          `${ONE_ORIGIN.each} deliveries each, ${ONE_ORIGIN.quiet} quiet ones elsewhere. "Same origin": 10 quiet tenants ` +
          `at the origin that hangs for another. "Retries": ${REFUSING.organizations * REFUSING.webhooks} receivers that ` +
          `refuse; the ${REFUSING.quiet} quiet ones respond 500 to each first attempt, so that a second is included. ` +
          `"Large events": ${LARGE.events.toLocaleString('en')} of ${LARGE.bytes / 1_000} KB as fast as the stream takes them, ` +
          `next to ${LARGE.quiet} quiet tenants.`,
        'Heap and RSS are those of the largest dispatcher, looked at four times a second.',
      ],
    },
    process.argv,
  );
}

function sumOf(rows, name) {
  return rows.reduce((sum, row) => sum + row[name], 0);
}
