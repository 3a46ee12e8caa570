// ./fleet bench webhooks: the dispatcher from published event to stored outcome, against bare undici and against BullMQ
// with a job per delivery; by turns, all to one receiver.
import { BenchServer } from '../support/bench-server.mjs';
import { isQuick } from '../support/quick.mjs';
import { storeHistory } from '../support/delivery-history.mjs';
import { printWebhooks } from '../support/webhooks-report.mjs';
import { EVENT_TYPE, NODE_FLAGS, openStores, WebhookWorld } from '../support/dispatcher-app.mjs';

const ORIGINS = 20;
const FAN_OUT = 20;
const ROUNDS = isQuick ? 2 : 5;
const sized = (count) => (isQuick ? count / 5 : count);
const SIZES = {
  bare: sized(30_000),
  wide: sized(20_000),
  narrow: sized(8_000),
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
const worlds = [];
const servers = [receiver, bare];
const exact = { sent: 0, lost: 0, doubled: 0, forged: 0 };

try {
  await Promise.all(servers.map((server) => server.ready()));
  const origins = receiver.ports.map((port) => `http://127.0.0.1:${port}`);
  const ours = await openWorld(origins, 0, HISTORY.short);
  const old = await openWorld(origins, 1, HISTORY.long);
  const bullmq = await startBullmq(ours.world);
  const wide = { world: ours.world, organizations: ours.wide, count: SIZES.wide, fanOut: FAN_OUT };
  const arms = [
    { name: 'a  bare undici dispatch', run: () => sendBare('dispatch', origins) },
    { name: 'b  bare undici request', run: () => sendBare('request', origins) },
    { name: 'c  ours, fan-out 20', run: () => sendOurs(wide) },
    {
      name: '   ours, fan-out 1',
      run: () => sendOurs({ ...wide, organizations: ours.narrow, count: SIZES.narrow, fanOut: 1 }),
    },
    { name: 'd  BullMQ, textbook', run: () => sendBullmq(bullmq, ours.world, 'textbook', origins) },
    { name: 'e  BullMQ, SQL in sets', run: () => sendBullmq(bullmq, ours.world, 'batched', origins) },
    {
      name: `c' ours, ${HISTORY.long.toLocaleString('en')} stored`,
      run: () => sendOurs({ ...wide, world: old.world, organizations: old.wide }),
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
  await Promise.all([...servers.map((server) => server.stop()), ...worlds.map((world) => world.close())]);
  await stores.stop();
}

/** A dispatcher with 100 webhooks for events of 20 receivers, and 100 for events of one, and some history. */
async function openWorld(origins, redisDatabase, history) {
  const world = await WebhookWorld.open(stores, { redisDatabase });
  worlds.push(world);
  const wide = await world.addOrganizations(5, () => origins.map((origin) => `${origin}/ok/ours`));
  const narrow = await world.addOrganizations(100, (n) => [`${origins[n % ORIGINS]}/ok/ours`]);
  await storeHistory(world.admin, history, EVENT_TYPE);
  return { world, wide, narrow };
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
  const { seconds } = await bare.tell({
    send: { way, count: SIZES.bare, fanOut: FAN_OUT, origins, path: '/ok/bare' },
  });
  return settled(SIZES.bare, seconds, { sender: (await bare.cpuMicros()) - before });
}

async function sendBullmq(server, world, style, origins) {
  await receiver.ask('taken');
  const count = SIZES[style];
  const [before, sender] = [world.cpu(), await server.cpuMicros()];
  const { seconds } = await server.tell({ send: { style, count, fanOut: FAN_OUT, origins } });
  const { postgres, redis } = spent(world, before);
  return settled(count, seconds, { sender: (await server.cpuMicros()) - sender, postgres, redis });
}

/** From the first event published to the last outcome stored. */
async function sendOurs({ world, organizations, count, fanOut }) {
  await receiver.ask('taken');
  const [delivered, before, startedAt] = [await world.delivered(), world.cpu(), performance.now()];
  await world.publishAll(organizations, count / fanOut);
  await world.untilDelivered(delivered, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { dispatcher: sender, ...servers } = spent(world, before);
  return settled(count, seconds, { sender, ...servers });
}

/** Events one by one at a steady pace. @returns times from the publish to the receipt */
async function sendPaced({ world, narrow }, perSecond) {
  await receiver.ask('taken');
  const delivered = await world.delivered();
  const count = await world.publishPaced(narrow, perSecond, PACE_SECONDS);
  await world.untilDelivered(delivered, count);
  const { received, ...times } = (await settled(count, PACE_SECONDS, {})).group;
  return { perSecond, received, ...times };
}

/** One long run: what it leaves in memory, and what it asks of the database and of the network. */
async function longRun({ world, organizations }) {
  const memory = [world.memory()];
  const sampling = setInterval(() => memory.push(world.memory()), MEMORY_MS);
  try {
    const transactions = await world.transactions();
    const result = await sendOurs({ world, organizations, count: LONG_RUN, fanOut: FAN_OUT });
    const statements = ((await world.transactions()) - transactions) / LONG_RUN;
    return { ...result, count: LONG_RUN, statements, memory };
  } finally {
    clearInterval(sampling);
  }
}

function spent(world, before) {
  const after = world.cpu();
  return Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
}

/** One window as figures per delivery; what was lost or doubled is added up. */
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
