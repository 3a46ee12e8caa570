// ./fleet bench webhooks: the dispatcher from published event to stored outcome, against bare undici, with and without an
// inserted row, and against BullMQ with a job per delivery; by turns, all to one receiver. `--arms` selects arms.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BenchServer } from '../support/bench-server.mjs';
import { createCertificate } from '../support/certificates.mjs';
import { storeHistory } from '../support/delivery-history.mjs';
import { EVENT_TYPE, openStores, DispatcherApp } from '../support/dispatcher-app.mjs';
import { startNameServer } from '../support/name-server.mjs';
import { isLong, isQuick, isSelected } from '../support/options.mjs';
import { printWebhooks } from '../support/webhooks-report.mjs';

const ORIGINS = 20;
const FAN_OUT = 20;
const ROUNDS = isQuick ? 1 : isLong ? 5 : 3;
const SCALE = isQuick ? 0.2 : isLong ? 1 : 0.4;
const sized = (count) => count * SCALE;
const SIZES = { bare: sized(30_000), ours: sized(20_000), single: sized(8_000), textbook: sized(2_500) };
const MANY_WEBHOOKS = 10_000;
/** Organizations of the replicas' arms: with few, some replicas would own none of them. */
const SHARED_ORGANIZATIONS = 50;
const HISTORY = { short: 10_000, long: isLong ? 2_000_000 : 200_000 };
const LONG_RUN = sized(200_000);
const PACE_SECONDS = isQuick ? 4 : isLong ? 12 : 8;
const MEMORY_MS = 500;
const IDLE_SECONDS = 3;
const TLS_DOMAIN = 'receivers.test';

/** The arms that are measured by turns. `needs` names those that they are compared with. */
const ARMS = [
  { name: 'dispatch', run: () => sendBare('dispatch') },
  { name: 'request', run: () => sendBare('request') },
  { name: 'floor', run: () => sendDurable(plain) },
  { name: 'fan-out-20', needs: ['floor'], run: () => sendOurs(ours.byFanOut[20]) },
  { name: 'fan-out-3', needs: ['floor'], run: () => sendOurs(ours.byFanOut[3]) },
  { name: 'fan-out-1', needs: ['floor'], run: () => sendOurs(ours.byFanOut[1]) },
  { name: 'tls-floor', run: () => sendDurable(secure) },
  { name: 'tls-fan-out-20', needs: ['tls-floor'], run: () => sendOurs(ours.tls) },
  { name: 'webhooks-10000', needs: ['fan-out-20'], run: () => sendOurs(many) },
  { name: 'history', needs: ['fan-out-20'], run: () => sendOurs(old) },
  { name: 'bullmq', needs: ['fan-out-20'], run: () => sendBullmq('textbook', SIZES.textbook) },
  { name: 'bullmq-sets', needs: ['fan-out-20'], run: () => sendBullmq('batched', SIZES.single) },
];
/** Measured after the others, one number of dispatchers after the other. */
const REPLICAS = [1, 2, 4].map((count) => ({ name: `replicas-${count}`, count }));

const selected = new Set(ARMS.filter(({ name }) => isSelected(name)).map(({ name }) => name));
for (const { name, needs = [] } of [...ARMS].reverse())
  if (selected.has(name)) needs.forEach((each) => selected.add(each));
const arms = ARMS.filter(({ name }) => selected.has(name));
const replicas = REPLICAS.some(({ name }) => isSelected(name)) ? REPLICAS : [];

const temporaryDir = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-webhooks-'));
const certificate = await createCertificate(`*.${TLS_DOMAIN}`);
const authority = path.join(temporaryDir, 'ca.pem');
fs.writeFileSync(authority, certificate.ca);
const names = await startNameServer();
/** Processes that send resolve the names of the receivers, and trust their certificate. */
const senderEnv = { NODE_EXTRA_CA_CERTS: authority, BENCH_NAME_SERVER: names.address };
const senderFlags = ['--import', path.resolve(import.meta.dirname, '../support/local-names.mjs')];

const stores = await openStores();
const servers = [];
const dispatchers = [];
const exact = { sent: 0, lost: 0, doubled: 0, forged: 0 };
let plain, secure, bare, bullmq, ours, many, old;

try {
  plain = await startReceiver((port) => `http://127.0.0.1:${port}`);
  secure = await startReceiver((port, n) => `https://r${n}.${TLS_DOMAIN}:${port}`, {
    BENCH_CERTIFICATE: JSON.stringify({ cert: certificate.cert, key: certificate.key }),
  });
  bare = await startServer('undici-sender.mjs', { env: senderEnv, nodeFlags: senderFlags });
  ours = await openOurs();
  if (selected.has('webhooks-10000')) many = await openMany();
  if (selected.has('history')) old = await openOld();
  if (arms.some(({ name }) => name.startsWith('bullmq'))) bullmq = await startBullmq(ours.dispatcher);

  const windows = Object.fromEntries(arms.map(({ name }) => [name, []]));
  for (const { run } of arms) await run();
  for (let round = 0; round < ROUNDS; round++) for (const { name, run } of arms) windows[name].push(await run());
  const paced = [];
  if (isSelected('paced')) for (const perSecond of [50, 200]) paced.push(await sendPaced(perSecond));
  const long = isSelected('long-run') ? await longRun() : null;
  const shared = replicas.length > 0 ? await openShared() : null;
  const idle = [];
  for (const { name, count } of replicas) {
    await ours.dispatcher.scaleTo(count);
    for (let n = 0; n < count; n++) await sendOurs(shared); // each dispatcher compiles its code
    idle.push({ count, milliseconds: await idleCpu(ours.dispatcher) });
    windows[name] = await sendShared(shared);
  }
  printWebhooks({ windows, paced, long, idle, exact, history: HISTORY, rounds: ROUNDS });
} finally {
  await Promise.all([
    ...servers.map((server) => server.stop()),
    ...dispatchers.map((dispatcher) => dispatcher.close()),
  ]);
  await stores.stop();
  names.stop();
  fs.rmSync(temporaryDir, { recursive: true });
}

function startServer(script, options) {
  const server = new BenchServer(script, options);
  servers.push(server);
  return server.ready();
}

async function startReceiver(originOf, env = {}) {
  const receiver = await startServer('webhook-receiver.mjs', { args: [String(ORIGINS)], env });
  return Object.assign(receiver, { origins: receiver.ports.map(originOf) });
}

function startBullmq({ database, redisUrl }) {
  const env = { BENCH_DATABASE_URL: database.adminUrl, BENCH_REDIS_URL: redisUrl };
  return startServer('bullmq-sender.mjs', { env });
}

async function openDispatcher(redisDatabase) {
  const dispatcher = await DispatcherApp.open(stores, { redisDatabase, env: senderEnv, nodeFlags: senderFlags });
  dispatchers.push(dispatcher);
  return dispatcher;
}

/** Starts a dispatcher with 100 webhooks for each fan-out, and 100 for receivers over TLS. */
async function openOurs() {
  const dispatcher = await openDispatcher(0);
  const open = async (fanOut, count, receiver = plain) => {
    const urls = (n) => Array.from({ length: fanOut }, (_, i) => urlOf(receiver, n * fanOut + i));
    const organizations = await dispatcher.addOrganizations(Math.round(100 / fanOut), urls);
    return { dispatcher, organizations, receiver, fanOut, count: Math.floor(count / fanOut) * fanOut };
  };
  const byFanOut = { 20: await open(20, SIZES.ours), 3: await open(3, SIZES.single), 1: await open(1, SIZES.single) };
  const tls = await open(20, SIZES.ours, secure);
  await storeHistory(dispatcher.admin, HISTORY.short, EVENT_TYPE);
  return { dispatcher, byFanOut, tls };
}

function urlOf({ origins }, n) {
  return `${origins[n % ORIGINS]}/ok/ours`;
}

/** Starts a dispatcher with 10,000 webhooks, each of which gets deliveries. */
async function openMany() {
  const dispatcher = await openDispatcher(1);
  const urls = Array.from({ length: FAN_OUT }, (_, n) => urlOf(plain, n));
  const organizations = await dispatcher.addManyOrganizations(MANY_WEBHOOKS / FAN_OUT, urls);
  return { ...ours.byFanOut[FAN_OUT], dispatcher, organizations };
}

/** Adds the organizations whose partitions the replicas share. */
async function openShared() {
  const urls = Array.from({ length: FAN_OUT }, (_, n) => urlOf(plain, n));
  const organizations = await ours.dispatcher.addManyOrganizations(SHARED_ORGANIZATIONS, urls);
  return { ...ours.byFanOut[FAN_OUT], organizations };
}

/** Starts a dispatcher with 100 webhooks and a long history. */
async function openOld() {
  const dispatcher = await openDispatcher(2);
  const urls = Array.from({ length: FAN_OUT }, (_, n) => urlOf(plain, n));
  const organizations = await dispatcher.addOrganizations(5, () => urls);
  await storeHistory(dispatcher.admin, HISTORY.long, EVENT_TYPE);
  return { ...ours.byFanOut[FAN_OUT], dispatcher, organizations };
}

async function sendBare(way) {
  await plain.ask('taken');
  const before = await bare.cpuMicros();
  const { seconds } = await bare.send({
    send: { way, count: SIZES.bare, fanOut: FAN_OUT, origins: plain.origins, path: '/ok/bare' },
  });
  return settled(plain, SIZES.bare, seconds, { sender: (await bare.cpuMicros()) - before });
}

/** `dispatch`, and one insert for up to 500 final rows. */
async function sendDurable(receiver) {
  await receiver.ask('taken');
  const { dispatcher } = ours;
  const [before, sender] = [dispatcher.cpu(), await bare.cpuMicros()];
  const { origins } = receiver;
  const databaseUrl = dispatcher.database.adminUrl;
  const { seconds } = await bare.send({
    send: { way: 'dispatch', count: SIZES.bare, fanOut: FAN_OUT, origins, path: '/ok/bare', databaseUrl },
  });
  const { postgres } = spent(dispatcher, before);
  return settled(receiver, SIZES.bare, seconds, { sender: (await bare.cpuMicros()) - sender, postgres });
}

async function sendBullmq(style, count) {
  await plain.ask('taken');
  const { dispatcher } = ours;
  const [before, sender] = [dispatcher.cpu(), await bullmq.cpuMicros()];
  const { seconds } = await bullmq.send({ send: { style, count, fanOut: FAN_OUT, origins: plain.origins } });
  const { postgres, redis } = spent(dispatcher, before);
  return settled(plain, count, seconds, { sender: (await bullmq.cpuMicros()) - sender, postgres, redis });
}

/** Measures from the first event published to the last outcome stored. */
async function sendOurs({ dispatcher, organizations, receiver, count, fanOut }) {
  await receiver.ask('taken');
  const [delivered, before, startedAt] = [await dispatcher.delivered(), dispatcher.cpu(), performance.now()];
  await dispatcher.publishAll(organizations, count / fanOut);
  await dispatcher.untilDelivered(delivered, count);
  const seconds = (performance.now() - startedAt) / 1_000;
  const { dispatcher: sender, ...others } = spent(dispatcher, before);
  return settled(receiver, count, seconds, { sender, ...others });
}

/** Returns the CPU in milliseconds that all dispatchers use in a second without events. */
async function idleCpu(dispatcher) {
  const before = dispatcher.cpu();
  await sleep(IDLE_SECONDS * 1_000);
  return spent(dispatcher, before).dispatcher / 1_000 / IDLE_SECONDS;
}

/** Measures the dispatchers that share the partitions. */
async function sendShared(shared) {
  const windows = [];
  for (let round = 0; round < ROUNDS; round++) windows.push(await sendOurs(shared));
  return windows;
}

/** Publishes single events at a steady rate. @returns times from the publish to the receipt */
async function sendPaced(perSecond) {
  const { dispatcher, organizations } = ours.byFanOut[1];
  await plain.ask('taken');
  const delivered = await dispatcher.delivered();
  const count = await dispatcher.publishPaced(organizations, perSecond, PACE_SECONDS);
  await dispatcher.untilDelivered(delivered, count);
  const { received, ...times } = (await settled(plain, count, PACE_SECONDS, {})).group;
  return { perSecond, received, ...times };
}

/** Measures one long run: memory, statements and connections. */
async function longRun() {
  const { dispatcher } = ours;
  const memory = [dispatcher.memory()];
  const sampling = setInterval(() => memory.push(dispatcher.memory()), MEMORY_MS);
  try {
    const transactions = await dispatcher.transactions();
    const result = await sendOurs({ ...ours.byFanOut[FAN_OUT], count: LONG_RUN });
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
async function settled(receiver, count, seconds, cpu) {
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
