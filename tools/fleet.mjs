#!/usr/bin/env node
// The front door: ./fleet <command>. Everything below runs on Node's own modules until the dependencies are installed.
import { Failure } from './failure.mjs';
import { endRunning } from './processes/run.mjs';

const COMMANDS = [
  'up',
  'down',
  'status',
  'logs',
  'restart',
  'reset',
  'env',
  'seed',
  'emit',
  'receiver',
  'replay',
  'rotate-signing-key',
  'totp',
  'mailbox',
  'test',
  'bench',
  'help',
];

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // a closed pipe must not end the clean-up
process.on('exit', endRunning);

const [name = 'help', ...args] = process.argv.slice(2);
const command = ['-h', '--help'].includes(name) ? 'help' : name;
try {
  if (!COMMANDS.includes(command)) throw new Failure(`There is no command "${name}". See: fleet help`);
  const { default: run } = await import(`./commands/${command}.mjs`);
  process.exitCode = (await run(args)) ?? 0;
} catch (error) {
  console.error(error instanceof Failure ? `\nfleet: ${error.message}\n` : error);
  process.exitCode = 1;
}
