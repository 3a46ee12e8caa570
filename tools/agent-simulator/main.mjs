// ./fleet agents: runs simulated agents against the fleet of the data folder. The launcher is compiled before it runs this.
import { Command, InvalidArgumentError, Option } from 'commander';
import { randomBytes } from 'node:crypto';
import { dim, FleetError, say, writeOneLine } from '../dist/console.js';
import { getRunningFleet } from '../dist/fleet/state.js';
import { build } from '../dist/processes/run.js';

const positive = (text) => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 50_000) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 to 50000');
};
const option = (flags, description) => new Option(flags, description).argParser(positive);
const program = new Command('./fleet agents')
  .description('Enrolls simulated agents at the running fleet and sends their reports and heartbeats, until Ctrl-C.')
  .addOption(option('--count <n>', 'number of agents').default(500))
  .addOption(option('--seconds <n>', 'end so long after the enrollment'))
  .addOption(option('--interval <n>', 'seconds between the heartbeats of an agent').default(60))
  .option('--key <key>', 'enroll with this key instead of one of a new partner')
  .option('--secret <secret>', 'the secret of the key')
  .allowExcessArguments(false)
  .configureOutput({ outputError: writeOneLine });

try {
  process.exitCode = (await run(program.parse().opts())) ? 0 : 1;
} catch (error) {
  console.error(`fleet: ${error instanceof FleetError ? error.message : error.stack}`);
  process.exitCode = 1;
}

/** @returns false when a request failed */
async function run({ count, seconds, interval, key, secret }) {
  const { summary } = getRunningFleet();
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => ending.abort());
  await build(['libs/testing/tsconfig.lib.json']); // builds the simulator, too
  const { simulateAgents } = await import('./dist/index.js');
  return simulateAgents({
    apiUrl: `${summary.baseUrl}/api/v1`,
    key: key ?? (await createKey(summary, count)),
    secret,
    series: randomBytes(3).toString('hex'),
    count,
    intervalSeconds: interval,
    seconds,
    signal: ending.signal,
    print: say,
  });
}

/** Returns an enrollment key of a new partner, and prints the login of its administrator. */
async function createKey(summary, count) {
  const { prepareRollOut } = await import('../../libs/testing/dist/agent-roll-out.js');
  const { enrollmentKey, lines } = await prepareRollOut(summary, count);
  for (const line of lines) console.log(dim(line));
  return enrollmentKey;
}
