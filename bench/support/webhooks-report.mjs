import { median, report, target } from './report.mjs';

const rate = ({ perSecond }) => perSecond;
const cost = ({ sum }) => sum;

/** The targets that compare two arms; each is printed when both were measured. */
const COMPARISONS = [
  ['CPU against the durable floor, fan-out 20', 'fan-out-20', 'floor', cost, '<=', 1.5],
  ['CPU against the durable floor, fan-out 1', 'fan-out-1', 'floor', cost, '<=', 2.5],
  ['CPU against the durable floor over TLS, fan-out 20', 'tls-fan-out-20', 'tls-floor', cost, '<=', 1.5],
  ['CPU with 10,000 webhooks against 100', 'webhooks-10000', 'fan-out-20', cost, '<=', 1.2],
  ['CPU with 2 replicas against one', 'replicas-2', 'replicas-1', cost, '<=', 1.2],
  ['CPU with 4 replicas against one', 'replicas-4', 'replicas-1', cost, '<=', 1.2],
  ['rate against textbook BullMQ', 'fan-out-20', 'bullmq', rate, '>=', 3],
  ['rate against BullMQ with SQL in sets', 'fan-out-20', 'bullmq-sets', rate, '>=', 1.1],
  ['rate with a long history against a short one', 'history', 'fan-out-20', rate, '>=', 0.9],
];

/** Prints the report of `bench webhooks`. @param windows  those of each arm by its name, in the order of the rounds */
export function printWebhooks({ windows, paced, long, idle, exact, history, rounds }) {
  const medianOf = (name, read) => median(windows[name].map(read));
  /** Inside each round, so that what else runs on the machine meets both. */
  const ratio = (name, to, read) => {
    if (!windows[name] || !windows[to]) return null;
    return median(windows[name].map((window, round) => read(window) / read(windows[to][round])));
  };
  const rows = Object.keys(windows).map((name) => ({
    arm: name,
    'deliveries/s': Math.round(medianOf(name, rate)),
    'CPU µs: sender': medianOf(name, ({ cpu }) => cpu.sender),
    PostgreSQL: medianOf(name, ({ cpu }) => cpu.postgres ?? 0),
    Redis: medianOf(name, ({ cpu }) => cpu.redis ?? 0),
    NATS: medianOf(name, ({ cpu }) => cpu.nats ?? 0),
    sum: medianOf(name, cost),
    'x floor': ratio(name, name.startsWith('tls') ? 'tls-floor' : 'floor', cost) ?? '',
    'x dispatch': ratio(name, 'dispatch', cost) ?? '',
    connections: medianOf(name, ({ connections }) => connections),
  }));
  const comparisons = COMPARISONS.flatMap(([name, arm, to, read, op, wanted]) => {
    const value = ratio(arm, to, read);
    return value === null ? [] : [target(name, value, op, wanted)];
  });
  const targets = [
    ...comparisons,
    ...(paced.length ? timesOf(paced.at(-1)) : []),
    ...(long ? longRunOf(long) : []),
    target(`lost of ${exact.sent.toLocaleString('en')}`, exact.lost, '<=', 0),
    target('doubled', exact.doubled, '<=', 0),
    target('wrongly signed, of one in 50', exact.forged, '<=', 0),
  ];
  report(
    { name: 'webhooks', arms: rows, targets, notes: notesOf({ paced, long, idle, history, rounds }) },
    process.argv,
  );
}

const timesOf = ({ perSecond, p95Ms, p50Ms }) => [
  target(`p95 from publish to receipt at ${perSecond}/s, ms`, p95Ms, '<=', 50),
  target(`p50 from publish to receipt at ${perSecond}/s, ms`, p50Ms, '<=', 5),
];

const longRunOf = ({ connections, statements, memory }) => [
  target('new connections per delivery', connections, '<=', 0.05),
  target('statements per delivery', statements, '<=', 0.05),
  target('memory of the dispatcher, MB', Math.max(...memory), '<=', 300),
];

function notesOf({ paced, long, idle, history, rounds }) {
  const ms = (value) => value.toFixed(1);
  return [
    `Medians of ${rounds} rounds. Measured next to whatever else this machine does: compare figures of one run only.`,
    ...paced.map(
      ({ perSecond, received, p50Ms, p95Ms, p99Ms, maxMs }) =>
        `Publish to receipt at ${perSecond}/s, ${received.toLocaleString('en')} events: p50 ${ms(p50Ms)}, p95 ` +
        `${ms(p95Ms)}, p99 ${ms(p99Ms)}, max ${ms(maxMs)} ms.`,
    ),
    ...(long ? [describeLongRun(long)] : []),
    ...idle.map(
      ({ count, milliseconds }) =>
        `Without events ${count} of the dispatchers use ${milliseconds.toFixed(0)} ms of CPU a second together, which ` +
        'a slow run adds to each delivery.',
    ),
    'CPU in µs per delivery. "dispatch" and "request" are bare undici, "floor" also inserts the final row, in sets, with ' +
      'two indexes, and no text of an event; all three have 64 in flight. "fan-out" is the dispatcher with 100 webhooks, ' +
      'each event of an organization going to 20, 3 or 1, with 10 requests to each of 20 origins, as it is configured. ' +
      '"tls" sends to host names, resolved by a name server of the run, with certificates of the run. ' +
      `"history" has ${history.long.toLocaleString('en')} deliveries stored instead of ` +
      `${history.short.toLocaleString('en')}, half of them today's. BullMQ arms make their events themselves. ` +
      'The publisher, the receiver and the stores share the cores.',
  ];
}

function describeLongRun({ count, perSecond, sum, statements, connections, memory }) {
  const quarter = Math.floor(memory.length / 4);
  const quarters = [0, 1, 2, 3].map((n) => Math.round(median(memory.slice(n * quarter, (n + 1) * quarter))));
  return (
    `Long run of ${count.toLocaleString('en')}: ${Math.round(perSecond).toLocaleString('en')}/s, ${sum.toFixed(1)} µs, ` +
    `${statements.toFixed(4)} statements and ${connections.toFixed(4)} new connections per delivery; memory by quarters ` +
    `${quarters.join(', ')} MB. Statements are transactions by pg_stat_database, those in the background included.`
  );
}
