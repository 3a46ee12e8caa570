import { bold, dim } from '../fleet/reporter.mjs';

const COMMANDS = [
  [
    'up [--detach] [--local-receivers] [--replicas <service>=<n>]',
    'install, build, find or start the stores, start everything',
  ],
  ['down', 'stop everything'],
  ['status [--json]', 'what runs, and where'],
  ['logs [service] [-f] [-n lines]', 'what the services say, the last 40 lines of each'],
  ['restart <service>', 'build what changed, start the service again'],
  ['reset [--yes]', 'forget all data'],
  ['env', 'the addresses as shell variables'],
  [],
  ['seed', 'fill the running fleet with a demo'],
  ['mailbox [address]', 'the mails and SMS that would have been sent'],
  ['receiver [--port n] [--secret s] [--fail n] [--count n] [--body]', 'a webhook receiver that prints and verifies'],
  ['totp <secret> [--next]', 'the code an authenticator app would show'],
  ['emit <event-type> --org <id> [--data json]', 'publish an event, as another RMM service would'],
  ['replay <service> [--consumer name]', 'have a service handle its dead letters again'],
  ['rotate-signing-key', 'have access tokens signed with a new key; nobody is logged out'],
  [],
  ['test [part ...]', 'lint format types unit setup launcher e2e, or the name of an app or lib'],
  ['bench <name> [--json] [--quick]', 'measure; the webhook benchmarks also in a short form'],
];

export default function help() {
  console.log(`\n${bold('fleet')}: the RMM backend on this machine\n`);
  for (const [usage, text] of COMMANDS) console.log(usage ? `  ./fleet ${usage}\n        ${dim(text)}` : '');
  console.log(`
${bold('Variables')}
  DATABASE_URL, REDIS_URL, NATS_URL   servers to use instead of finding or starting some
  FLEET_PRIVATE=1                     do not look at the default ports
  FLEET_PORT                          first port to try for the API, by default 8080
  FLEET_DATA_DIR                      where everything is kept, by default .data; another folder is another fleet
  FLEET_TOOLS_DIR                     where fetched server binaries are kept
  Every other variable reaches the services: see .env.example
`);
}
