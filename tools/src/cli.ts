import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { ExecaError } from 'execa';
import path from 'node:path';
import { benchmarkNames, PART_NAMES } from './commands/choices.js';
import { FleetError, writeOneLine } from './console.js';
import { SERVICE_NAMES, type ServiceName } from './fleet/services.js';
import { DATA_DIR, parseJson, readJson, ROOT } from './paths.js';
import { abortCommands } from './processes/run.js';

// The code of a command is loaded when the command runs: all of it takes longer to load than most commands to run.
const loadBench = () => import('./commands/bench.js');
const loadDoctor = () => import('./commands/doctor.js');
const loadLifecycle = () => import('./commands/lifecycle.js');
const loadOperations = () => import('./commands/operations.js');
const loadReceiver = () => import('./commands/receiver.js');
const loadStatus = () => import('./commands/status.js');
const loadTest = () => import('./commands/test.js');

const VARIABLES = `
Variables:
  DATABASE_URL, REDIS_URL, NATS_URL   servers to use instead of private ones
  FLEET_PORT                          first port to try for the API, by default 8080
  FLEET_DATA_DIR                      the data folder, by default .data; another folder is another fleet
  FLEET_TOOLS_DIR                     the folder of fetched server programs
Other variables are passed to the services: see .env.example`;

export async function main(args: readonly string[]): Promise<void> {
  process.on('exit', () => void abortCommands());
  const end = args.indexOf('--') < 0 ? args.length : args.indexOf('--');
  try {
    const program = createProgram(args.slice(end + 1));
    const [first = 'help', second] = args.slice(0, end);
    // The help of an unknown command is refused as the command is.
    const isUnknown = first === 'help' && second && !program.commands.some((command) => command.name() === second);
    await program.parseAsync(end === 0 ? ['help'] : args.slice(isUnknown ? 1 : 0, end), { from: 'user' });
  } catch (error) {
    console.error(`fleet: ${describeError(error)}`);
    process.exitCode = 1;
  }
}

function createProgram(argumentsAfterDashes: readonly string[]): Command {
  const version = readJson<{ version: string }>(path.join(ROOT, 'package.json'))?.version ?? '';
  const program = new Command('./fleet')
    .description('Runs and tests the RMM backend on this machine.')
    .version(version)
    .helpOption('-h, --help', 'show the options of a command')
    .addHelpText('after', VARIABLES)
    .configureOutput({ outputError: writeOneLine });
  const command = (usage: string, description: string) =>
    program.command(usage).description(description).allowExcessArguments(false).copyInheritedSettings(program);
  const service = new Argument('<service>').choices(SERVICE_NAMES);

  command('up', 'install, build, start the stores and all services')
    .option('-d, --detach', 'return when the fleet is ready and leave it running')
    .option('--local-receivers', 'allow webhooks to addresses of this machine')
    .option('--pooler', 'reach PostgreSQL through a private PgBouncer in transaction mode')
    .option('--nats-cluster', 'run NATS as a cluster of three servers that hold each stream')
    .option('--redis-cluster', 'run Redis as a cluster of three servers with a replica each')
    .option(
      '--postgres-standby',
      'run PostgreSQL with a synchronous standby, and one address that leads to the primary',
    )
    .option('--replicas <service=n,...>', 'run several instances of a service', parseReplicas, {})
    .action(actionOf(loadLifecycle, ({ up }) => up));
  command('down', 'stop everything').action(actionOf(loadLifecycle, ({ down }) => down));
  command('status', 'show what runs and where; exit code 3 unless everything is ready')
    .option('--json', 'print JSON')
    .action(actionOf(loadStatus, ({ status }) => status));
  command('doctor', 'name what is wrong with the running fleet or a deployment; exit code 1 when something is')
    .option('--env <[service=]file>', 'check the deployment of these variables; repeat it for more files', append, [])
    .addOption(
      new Option('--service <service>', 'check this service, without --env by the variables of this shell; repeatable')
        .argParser(appendService)
        .default([]),
    )
    .option('--at <service=address>', 'an instance of a deployed service; repeatable', append, [])
    .option('--json', 'print JSON')
    .action(actionOf(loadDoctor, ({ doctor }) => doctor));
  command('logs [service]', 'show the end of the logs')
    .option('-f, --follow', 'go on with new lines')
    .addOption(new Option('-n, --lines <n>', 'lines of each log').argParser(parseInteger(1)).default(40))
    .action(actionOf(loadStatus, ({ logs }) => logs));
  command('restart', 'build what changed and restart a service')
    .addArgument(service)
    .action(actionOf(loadLifecycle, ({ restart }) => restart));
  command('reset', 'remove all data of the fleet')
    .option('-y, --yes', 'confirm it')
    .action(actionOf(loadLifecycle, ({ reset }) => reset));
  command('env', 'print the addresses as shell variables').action(actionOf(loadOperations, ({ env }) => env));
  command('seed', 'fill the running fleet with a demo').action(actionOf(loadOperations, ({ seed }) => seed));
  const simulator = { executableFile: path.join(ROOT, 'tools/agent-simulator/main.mjs') };
  program.command('agents', 'run simulated agents against the running fleet', simulator);
  command('mailbox [address]', 'show the mails and SMS that would have been sent').action(
    actionOf(loadOperations, ({ mailbox }) => mailbox),
  );
  command('receiver', 'run a webhook receiver that prints and verifies requests')
    .addOption(new Option('--port <n>', 'port of 127.0.0.1').argParser(parseInteger(1, 65_535)).default(9377))
    .option('--secret <secret>', 'verify signatures with this secret')
    .addOption(new Option('--fail <n>', 'respond 503 to the first n requests').argParser(parseInteger(0)).default(0))
    .addOption(new Option('--count <n>', 'end after n requests').argParser(parseInteger(1)))
    .option('--body', 'print the bodies')
    .action(actionOf(loadReceiver, ({ receiver }) => receiver));
  command('totp <secret>', 'print the code of an authenticator app')
    .option('--next', 'print the code of the next half minute')
    .action(actionOf(loadOperations, ({ totp }) => totp));
  command('emit <event-type>', 'publish an event as another RMM service would')
    .requiredOption('--org <id>', 'the organization')
    .option('--data <json>', 'the data of the event', parseObject, {})
    .action(actionOf(loadOperations, ({ emit }) => emit));
  command('replay', 'process the dead-lettered messages of a service again')
    .addArgument(service)
    .option('--consumer <name>', 'only those of one consumer')
    .action(actionOf(loadOperations, ({ replay }) => replay));
  command('rotate-signing-key', 'sign access tokens with a new key').action(
    actionOf(loadOperations, ({ rotateSigningKey }) => rotateSigningKey),
  );
  command('withdraw-signing-key <kid>', 'refuse access tokens of a key').action(
    actionOf(loadOperations, ({ withdrawSigningKey }) => withdrawSigningKey),
  );
  command('test [part-or-project...]', `run ${PART_NAMES.join(' ')}, or the specs of an app or lib`)
    .usage('[part-or-project...] [-- jest arguments]')
    .action(exitCodeOf(async (names: string[]) => (await loadTest()).test(names, argumentsAfterDashes)));
  command('bench', 'run a benchmark')
    .addArgument(new Argument('<name>').choices(benchmarkNames()))
    .option('--quick', 'measure for a few seconds only')
    .option('--long', 'measure for as long as exact figures take')
    .option('--arms <names>', 'run only what has one of these parts in its name (webhooks*)')
    .option('--size <number>', 'number of rows to measure with (partner-export)', parseInteger(10_000, 1_000_000))
    .option('--check', 'compare what is read with the tables (partner-export)')
    .option('--json', 'print JSON')
    .action(actionOf(loadBench, ({ bench }) => bench));
  program.command('stores', { hidden: true }).action(actionOf(loadBench, ({ stores }) => stores));
  return program;
}

type Run<A extends unknown[]> = (...args: A) => Promise<number | void> | number | void;

function exitCodeOf<A extends unknown[]>(run: Run<A>) {
  return async (...args: A): Promise<void> => {
    process.exitCode = (await run(...args)) ?? 0;
  };
}

/** Returns the action of a command whose code `load` imports. */
function actionOf<M, A extends unknown[]>(load: () => Promise<M>, commandOf: (module: M) => Run<A>) {
  return exitCodeOf<A>(async (...args) => commandOf(await load())(...args));
}

const parseInteger =
  (minimum: number, maximum = Infinity) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= minimum && value <= maximum) return value;
    const range = `from ${minimum}${maximum === Infinity ? '' : ` to ${maximum}`}`;
    throw new InvalidArgumentError(`It must be a whole number ${range}`);
  };

const append = (value: string, previous: string[]): string[] => [...previous, value];

function appendService(value: string, previous: ServiceName[]): ServiceName[] {
  const service = SERVICE_NAMES.find((name) => name === value);
  if (!service) throw new InvalidArgumentError(`Services: ${SERVICE_NAMES.join(', ')}`);
  return [...previous, service];
}

function parseObject(text: string): object {
  const content = parseJson<object>(text, {});
  if (content) return content;
  throw new InvalidArgumentError('It must be a JSON object');
}

function parseReplicas(text: string, previous: Record<string, number>): Record<string, number> {
  const entries = text.split(',').map((entry) => {
    const [, service = '', count] = /^([a-z-]+)=([1-9]\d?)$/.exec(entry) ?? [];
    if ((SERVICE_NAMES as readonly string[]).includes(service)) return [service, Number(count)] as const;
    throw new InvalidArgumentError(`It must be <service>=<number from 1>; services: ${SERVICE_NAMES.join(', ')}`);
  });
  return { ...previous, ...Object.fromEntries(entries) };
}

/** Returns the text of a known problem, the stack of a defect. */
function describeError(error: unknown): string {
  if (error instanceof FleetError || error instanceof ExecaError) return error.message;
  const { message, path: file, stack } = error as NodeJS.ErrnoException;
  const [, reason] = /^E[A-Z]+: ([^,]+)/.exec(message) ?? [];
  if (!reason || !file?.startsWith(DATA_DIR)) return stack ?? String(error);
  const hint = /permitted|permission/.test(reason) ? 'Run ./fleet as its owner, or set' : 'Set';
  return `Cannot use ${file}: ${reason}. ${hint} FLEET_DATA_DIR to another folder.`;
}
