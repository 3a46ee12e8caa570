// ./fleet bench webhooks-fairness: the effect on 99 quiet tenants of one with 50,000 deliveries for a receiver that hangs,
// fails, drips, refuses or is fast.
import { setTimeout as sleep } from 'node:timers/promises';
import getPort from 'get-port';
import { BenchServer } from '../support/bench-server.mjs';
import { isQuick } from '../support/quick.mjs';
import { report, target } from '../support/report.mjs';
import { QUIET_TENANTS, QuietTenants } from '../support/quiet-tenants.mjs';
import { openStores, DispatcherApp } from '../support/dispatcher-app.mjs';

const ORIGINS = 20;
const NOISY_WEBHOOKS = 20;
const NOISE = isQuick ? 10_000 : 50_000;
const BEFORE_SECONDS = isQuick ? 3 : 8;
const DURING_SECONDS = isQuick ? 5 : 15;
const STORED_MS = 30_000;
const CASES = ['hangs', 'responses 500', 'drips', 'refuses', 'is fast'];
const BEHAVIOR = { hangs: 'hang', 'responses 500': 'fail', drips: 'drip', refuses: 'ok', 'is fast': 'ok' };

const receiver = new BenchServer('webhook-receiver.mjs', { args: [String(ORIGINS)] });
const noisyReceiver = new BenchServer('webhook-receiver.mjs');
const stores = await openStores();

try {
  await Promise.all([receiver.ready(), noisyReceiver.ready()]);
  const rows = [];
  for (const [index, name] of CASES.entries()) rows.push(await oneCase(name, index));
  print(rows);
} finally {
  await Promise.all([receiver.stop(), noisyReceiver.stop()]);
  await stores.stop();
}

/** Runs one case with a new dispatcher. */
async function oneCase(name, redisDatabase) {
  const dispatcher = await DispatcherApp.open(stores, { redisDatabase });
  try {
    const quiet = await QuietTenants.open(dispatcher, receiver);
    const port = name === 'refuses' ? await getPort({ host: '127.0.0.1' }) : noisyReceiver.port;
    const url = `http://127.0.0.1:${port}/${BEHAVIOR[name]}/noisy`;
    const noisy = await dispatcher.addOrganizations(1, () => Array.from({ length: NOISY_WEBHOOKS }, () => url));
    await quiet.measure(1);
    const before = await quiet.measure(BEFORE_SECONDS);
    const arriving = await quiet.measureDuring(() => publishNoise(dispatcher, noisy));
    const during = await quiet.measure(DURING_SECONDS);
    return { name, before, arriving, during, noise: await noiseOf(dispatcher, noisy) };
  } finally {
    await dispatcher.close({ kill: true });
    await Promise.all([receiver.ask('taken'), noisyReceiver.ask('taken')]);
  }
}

/** Publishes the events of the noisy tenant, and waits until their deliveries are stored. */
async function publishNoise(dispatcher, noisy) {
  await dispatcher.publishAll(noisy, NOISE / NOISY_WEBHOOKS);
  const startedAt = performance.now();
  while ((await noiseOf(dispatcher, noisy)).stored < NOISE && performance.now() - startedAt < STORED_MS)
    await sleep(100);
}

async function noiseOf(dispatcher, [{ orgId }]) {
  const { rows } = await dispatcher.admin.query(
    'select sum(total)::int as stored, sum(delivered + failed)::int as ended from webhook_counter where org_id = $1',
    [orgId],
  );
  return rows[0];
}

function print(cases) {
  const arms = cases.map(({ name, before, arriving, during, noise }) => ({
    'noisy receiver': name,
    'before p50': before.p50Ms,
    'before p99': before.p99Ms,
    'arriving p50': arriving.p50Ms,
    'arriving p99': arriving.p99Ms,
    'queued p50': during.p50Ms,
    'queued p99': during.p99Ms,
    'queued max': during.maxMs,
    missing: arriving.missing + during.missing,
    doubled: arriving.received + during.received - arriving.distinct - during.distinct,
    'noise stored': noise.stored,
    'noise ended': noise.ended,
  }));
  const bar = ({ before }) => Math.max(2 * before.p99Ms, before.p99Ms + 50);
  report(
    {
      name: 'webhooks-fairness',
      arms,
      targets: [
        ...cases.map((each) => target(`p99 while it ${each.name}, ms`, each.during.p99Ms, '<=', bar(each))),
        target('quiet events missing', sumOf(arms, 'missing'), '<=', 0),
        target('quiet events doubled', sumOf(arms, 'doubled'), '<=', 0),
      ],
      notes: [
        `Times from publish to receipt in ms, ${QUIET_TENANTS} quiet tenants with 2 events a second each. The noisy one has ` +
          `${NOISY_WEBHOOKS} webhooks, all at one receiver, and ${(NOISE / NOISY_WEBHOOKS).toLocaleString('en')} events ` +
          `at once: ${NOISE.toLocaleString('en')} deliveries. "Arriving" is until all of them are stored, "queued" the ` +
          `${DURING_SECONDS} seconds from then on. One dispatcher, and a new one for each case.`,
      ],
    },
    process.argv,
  );
}

function sumOf(rows, name) {
  return rows.reduce((sum, row) => sum + row[name], 0);
}
