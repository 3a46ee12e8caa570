import { median, report, target } from './report.mjs';

const [DISPATCH, REQUEST, WIDE, SINGLE, TEXTBOOK, BATCHED, LONG_HISTORY] = [0, 1, 2, 3, 4, 5, 6];

/** Prints the report of `bench webhooks`. */
export function printWebhooks({ arms, rounds, paced, long, exact, history }) {
  const of = (index, read) => median(rounds.map((windows) => read(windows[index])));
  /** Inside each round, so that what else runs on the machine meets both. */
  const ratio = (index, to, read) => median(rounds.map((windows) => read(windows[index]) / read(windows[to])));
  const rate = ({ perSecond }) => perSecond;
  const cost = ({ sum }) => sum;
  const rows = arms.map(({ name }, index) => ({
    arm: name,
    'deliveries/s': Math.round(of(index, rate)),
    'CPU µs: sender': of(index, ({ cpu }) => cpu.sender),
    PostgreSQL: of(index, ({ cpu }) => cpu.postgres ?? 0),
    Redis: of(index, ({ cpu }) => cpu.redis ?? 0),
    NATS: of(index, ({ cpu }) => cpu.nats ?? 0),
    sum: of(index, cost),
    'x dispatch': ratio(index, DISPATCH, cost),
    'x request': ratio(index, REQUEST, cost),
    connections: of(index, ({ connections }) => connections),
  }));
  const [, fast] = paced;
  const peak = Math.max(...long.memory);
  report(
    {
      name: 'webhooks',
      arms: rows,
      targets: [
        target('CPU against bare request, fan-out 20', ratio(WIDE, REQUEST, cost), '<=', 1.3),
        target('CPU against bare request, fan-out 1', ratio(SINGLE, REQUEST, cost), '<=', 2),
        target('rate against textbook BullMQ', ratio(WIDE, TEXTBOOK, rate), '>=', 3),
        target('rate against BullMQ with SQL in sets', ratio(WIDE, BATCHED, rate), '>=', 1.1),
        target('p95 from publish to receipt at 200/s, ms', fast.p95Ms, '<=', 50),
        target('p50 from publish to receipt at 200/s, ms', fast.p50Ms, '<=', 5),
        target('new connections per delivery', long.connections, '<=', 0.05),
        target('statements per delivery', long.statements, '<=', 0.05),
        target('fall of the rate by history, %', 100 * (1 - ratio(LONG_HISTORY, WIDE, rate)), '<=', 10),
        target('memory of the dispatcher, MB', peak, '<=', 300),
        target(`lost of ${exact.sent.toLocaleString('en')}`, exact.lost, '<=', 0),
        target('doubled', exact.doubled, '<=', 0),
        target('wrongly signed, of one in 50', exact.forged, '<=', 0),
      ],
      notes: notesOf({ paced, long, history, historyCost: ratio(LONG_HISTORY, WIDE, cost) }),
    },
    process.argv,
  );
}

function notesOf({ paced, long, history, historyCost }) {
  const ms = (value) => value.toFixed(1);
  const quarter = Math.floor(long.memory.length / 4);
  const quarters = [0, 1, 2, 3].map((n) => Math.round(median(long.memory.slice(n * quarter, (n + 1) * quarter))));
  return [
    ...paced.map(
      ({ perSecond, received, p50Ms, p95Ms, p99Ms, maxMs }) =>
        `Publish to receipt at ${perSecond}/s, ${received.toLocaleString('en')} events: p50 ${ms(p50Ms)}, p95 ` +
        `${ms(p95Ms)}, p99 ${ms(p99Ms)}, max ${ms(maxMs)} ms.`,
    ),
    `Long run of ${long.count.toLocaleString('en')}: ${Math.round(long.perSecond).toLocaleString('en')}/s, ` +
      `${ms(long.sum)} µs, ${long.statements.toFixed(4)} statements and ${long.connections.toFixed(4)} new connections ` +
      `per delivery; memory by quarters ${quarters.join(', ')} MB. Statements are transactions by pg_stat_database, ` +
      'those in the background included.',
    `${history.long.toLocaleString('en')} stored against ${history.short.toLocaleString('en')}, half of them today's: ` +
      `${historyCost.toFixed(2)} x the CPU.`,
    'CPU in µs per delivery. The floors have 64 in flight and store nothing; ours has 10 to each of 20 origins, as it is ' +
      'configured. The publisher, the receiver and the stores share the cores. BullMQ arms make their events themselves.',
  ];
}
