// ./fleet bench webhooks: the dispatcher from published event to stored outcome, against bare undici and against BullMQ
// with a job per delivery; by turns, all to one receiver.
import { BenchServer } from '../support/bench-server.mjs';
import { isQuick } from '../support/quick.mjs';
import { storeHistory } from '../support/delivery-history.mjs';
import { printWebhooks } from '../support/webhooks-report.mjs';
import { EVENT_TYPE, NODE_FLAGS, openStores, DispatcherApp } from '../support/dispatcher-app.mjs';

const ORIGINS = 20;
const FAN_OUT = 20;
const ROUNDS = isQuick ? 2 : 5;
const sized = (count) => (isQuick ? count / 5 : count);
const SIZES = {
  bare: sized(30_000),
  wide: sized(20_000),
  single: sized(8_000),
  textbook: sized(2_500),
  batched: sized(8_000),
};
const HISTORY = { short: 10_000, long: isQuick ? 200_000 : 2_000_000 };
const LONG_RUN = isQuick ? 40_000 : 200_000;
const PACE_SECONDS = isQuick ? 4 : 12;
const MEMORY_MS = 500;

const receiver = new BenchServer('webhook-receiver.mjs', { args: [String(ORIGINS)] });
const bare = new BenchServer('undici-sender.mjs', { nodeFlags: NODE_FLAGS });
const stores = await openStores();
const dispatchers = [];
const servers = [receiver, bare];
const exact = { sent: 0, lost: 0, doubled: 0, forged: 0 };

try {
  await Promise.all(servers.map((server) => server.ready()));
  const origins = receiver.ports.map((port) => `http://127.0.0.1:${port}`);
  const ours = await openDispatcher(origins, 0, HISTORY.short);
  const old = await openDispatcher(origins, 1, HISTORY.long);
  const bullmq = await startBullmq(ours.dispatcher);
  const wide = { dispatcher: ours.dispatcher, organizations: ours.wide, count: SIZES.wide, fanOut: FAN_OUT };
  const arms = [
    { name: 'a  bare undici dispatch', run: () => sendBare('dispatch', origins) },
    { name: 'b  bare undici request', run: () => sendBare('request', origins) },
    { name: 'c  ours, fan-out 20', run: () => sendOurs(wide) },
    {
      name: '   ours, fan-out 1',
      run: () => sendOurs({ ...wide, organizations: ours.single, count: SIZES.single, fanOut: 1 }),
    },
    { name: 'd  BullMQ, textbook', run: () => sendBullmq(bullmq, ours.dispatcher, 'textbook', origins) },
    { name: 'e  BullMQ, SQL in sets', run: () => sendBullmq(bullmq, ours.dispatcher, 'batched', origins) },
    {
      name: `c' ours, ${HISTORY.long.toLocaleString('en')} stored`,
      run: () => sendOurs({ ...wide, dispatcher: old.dispatcher, organizations: old.wide }),
    },
  ];
  for (const arm of arms) await arm.run();
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const windows = [];
    for (const arm of arms) windows.push(await arm.run());
    rounds.push(windows);
  }
  const paced = [];
  for (const perSecond of [50, 200]) paced.push(await sendPaced(ours, perSecond));
  const long = await longRun(wide);
  printWebhooks({ arms, rounds, paced, long, exact, history: HISTORY });
} finally {
  await Promise.all([
    ...servers.map((server) => server.stop()),
    ...dispatchers.map((dispatcher) => dispatcher.close()),
  ]);
  await stores.stop();
}

/** Starts a dispatcher with 100 webhooks for events of 20 receivers, 100 for events of one, and some history. */
async function openDispatcher(origins, redisDatabase, history) {
  const dispatcher = await DispatcherApp.open(stores, { redisDatabase });
  dispatchers.push(dispatcher);
  const wide = await dispatcher.addOrganizations(5, () => origins.map((origin) => `${origin}/ok/ours`));
  const single = await dispatcher.addOrganizations(100, (n) => [`${origins[n % ORIGINS]}/ok/ours`]);
  await storeHistory(dispatcher.admin, history, EVENT_TYPE);
  return { dispatcher, wide, single };
}

async function startBullmq({ database, redisUrl }) {
  const env = { BENCH_DATABASE_URL: database.adminUrl, BENCH_REDIS_URL: redisUrl };
  const server = new BenchServer('bullmq-sender.mjs', { env, nodeFlags: NODE_FLAGS });
  servers.push(server);
  return server.ready();
}

async function sendBare(way, origins) {
  await receiver.ask('taken');
  const before = await bare.cpuMicros();
  const { seconds } = await bare.send({
    send: { way, count: SIZES.bare, fanOut: FAN_OUT, origins, path: '/ok/bare' },
  });
  return settled(SIZES.bare, seconds, { sender: (await bare.cpuMicros()) - before });
}

async function sendBullmq(server, dispatcher, style, origins) {
  await receiver.ask('taken');
  const count = SIZES[style];
  const [before, sender] = [dispatcher.cpu(), await server.cpuMicros()];
  const { seconds } = await server.send({ send: { style, count, fanOut: FAN_OUT, origins } });
  const { postgres, redis } = spent(dispatcher, before);
  return settled(count, seconds, { sender: (await server.cpuMicros()) - sender, postgres, redis });
}

/** Measures from the first event published to the last outcome stored. */
async function sendOurs({ dispatcher, organizations, count, fanOut }) {
  await receiver.ask('taken');
  const [delivered, before, startedAt] = [await dispatcher.delivered(), dispatcher.cpu(), performance.now()];
  await dispatcher.publishAll(organizations, count / fanOut);
  await dispatcher.untilDelivered(delivered, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { dispatcher: sender, ...servers } = spent(dispatcher, before);
  return settled(count, seconds, { sender, ...servers });
}

/** Publishes single events at a steady rate. @returns times from the publish to the receipt */
async function sendPaced({ dispatcher, single }, perSecond) {
  await receiver.ask('taken');
  const delivered = await dispatcher.delivered();
  const count = await dispatcher.publishPaced(single, perSecond, PACE_SECONDS);
  await dispatcher.untilDelivered(delivered, count);
  const { received, ...times } = (await settled(count, PACE_SECONDS, {})).group;
  return { perSecond, received, ...times };
}

/** Measures one long run: memory, statements and connections. */
async function longRun({ dispatcher, organizations }) {
  const memory = [dispatcher.memory()];
  const sampling = setInterval(() => memory.push(dispatcher.memory()), MEMORY_MS);
  try {
    const transactions = await dispatcher.transactions();
    const result = await sendOurs({ dispatcher, organizations, count: LONG_RUN, fanOut: FAN_OUT });
    const statements = ((await dispatcher.transactions()) - transactions) / LONG_RUN;
    return { ...result, count: LONG_RUN, statements, memory };
  } finally {
    clearInterval(sampling);
  }
}

function spent(dispatcher, before) {
  const after = dispatcher.cpu();
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
}

/** Returns the figures of one window per delivery, and adds up lost and doubled deliveries. */
async function settled(count, seconds, cpu) {
  const { connections, groups } = await receiver.ask('taken');
  const [group] = Object.values(groups);
  exact.sent += count;
  exact.lost += count - group.distinct;
  exact.doubled += group.received - group.distinct;
  exact.forged += group.bad;
  const perDelivery = Object.fromEntries(Object.entries(cpu).map(([name, micros]) => [name, micros / count]));
  const sum = Object.values(perDelivery).reduce((total, each) => total + each, 0);
  return { perSecond: count / seconds, cpu: perDelivery, sum, connections: connections / count, group };
}
