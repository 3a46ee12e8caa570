// ./fleet bench webhooks: the dispatcher from published event to stored outcome, against bare undici and against BullMQ
// with a job per delivery; by turns, all to one receiver.
import { BenchServer } from './load.mjs';
import { median, report, target } from './report.mjs';
import { NODE_FLAGS, openStores, WebhookWorld } from './webhooks-world.mjs';

const ORIGINS = 20;
const FAN_OUT = 20;
const quick = process.argv.includes('--quick');
const ROUNDS = quick ? 2 : 5;
const SIZE = quick ? 0.4 : 1;
const BARE = 30_000 * SIZE;
const WIDE = 20_000 * SIZE;
const NARROW = 8_000 * SIZE;

const receiver = new BenchServer('webhooks-receiver.mjs', { args: [String(ORIGINS)] });
const bare = new BenchServer('webhooks-bare.mjs', { nodeFlags: NODE_FLAGS });
const stores = await openStores();
const worlds = [];
const exact = { lost: 0, doubled: 0, bad: 0 };

try {
  await Promise.all([receiver.ready(), bare.ready()]);
  const origins = receiver.ports.map((port) => `http://127.0.0.1:${port}`);
  const world = await WebhookWorld.open(stores);
  worlds.push(world);
  const wide = await world.addOrganizations(5, () => origins.map((origin) => `${origin}/ok/ours`));
  const narrow = await world.addOrganizations(100, (n) => [`${origins[n % ORIGINS]}/ok/ours`]);
  const arms = [
    { name: 'a  bare dispatch', run: () => sendBare('dispatch', origins) },
    { name: 'b  bare request', run: () => sendBare('request', origins) },
    { name: 'c  ours, fan-out 20', run: () => sendOurs(world, wide, WIDE, FAN_OUT) },
    { name: 'c1 ours, fan-out 1', run: () => sendOurs(world, narrow, NARROW, 1) },
  ];
  for (const arm of arms) await arm.run();
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const windows = [];
    for (const arm of arms) windows.push(await arm.run());
    rounds.push(windows);
  }
  print(arms, rounds);
} finally {
  await Promise.all([receiver.stop(), bare.stop(), ...worlds.map((world) => world.close())]);
  await stores.stop();
}

async function sendBare(way, origins) {
  await receiver.ask('taken');
  const before = await bare.cpuMicros();
  const { seconds } = await bare.tell({ send: { way, count: BARE, fanOut: FAN_OUT, origins, path: '/ok/bare' } });
  const cpu = { sender: (await bare.cpuMicros()) - before };
  return settled({ count: BARE, seconds, cpu, received: await receiver.ask('taken') });
}

async function sendOurs(world, organizations, count, fanOut) {
  await receiver.ask('taken');
  const [delivered, before, startedAt] = [await world.delivered(), world.cpu(), performance.now()];
  await world.publishAll(organizations, count / fanOut);
  await world.untilDelivered(delivered, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = world.cpu();
  const cpu = Object.fromEntries(Object.keys(after).map((name) => [name, after[name] - before[name]]));
  return settled({ count, seconds, cpu, received: await receiver.ask('taken') });
}

/** One window as figures per delivery; what was lost or doubled is added up. */
function settled({ count, seconds, cpu, received: { connections, groups } }) {
  const [group] = Object.values(groups);
  exact.lost += count - group.distinct;
  exact.doubled += group.received - group.distinct;
  exact.bad += group.bad;
  const perDelivery = Object.fromEntries(Object.entries(cpu).map(([name, micros]) => [name, micros / count]));
  const sum = Object.values(perDelivery).reduce((total, each) => total + each, 0);
  return { perSecond: count / seconds, cpu: perDelivery, sum, connections: connections / count };
}

function print(arms, rounds) {
  const of = (index, read) => median(rounds.map((windows) => read(windows[index])));
  const rows = arms.map(({ name }, index) => ({
    arm: name,
    'deliveries/s': Math.round(of(index, (window) => window.perSecond)),
    sender: of(index, ({ cpu }) => cpu.sender ?? cpu.dispatcher),
    PostgreSQL: of(index, ({ cpu }) => cpu.postgres ?? 0),
    Redis: of(index, ({ cpu }) => cpu.redis ?? 0),
    NATS: of(index, ({ cpu }) => cpu.nats ?? 0),
    'sum µs': of(index, ({ sum }) => sum),
    'x request': median(rounds.map((windows) => windows[index].sum / windows[1].sum)),
    connections: of(index, ({ connections }) => connections),
  }));
  report(
    {
      name: 'webhooks',
      arms: rows,
      targets: [target('lost', exact.lost, '<=', 0), target('doubled', exact.doubled, '<=', 0)],
    },
    process.argv,
  );
}
