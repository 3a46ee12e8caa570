import fs from 'node:fs';
import readline from 'node:readline/promises';
import { Failure } from '../failure.mjs';
import { FLEET_DIR, LOCK_FILE } from '../fleet/layout.mjs';
import { say } from '../fleet/reporter.mjs';
import { readJson } from '../paths.mjs';
import { isAlive } from '../processes/identity.mjs';
import { removeFromOwnServers } from '../fleet/remove.mjs';
import { shelterPath } from '../stores/unprivileged.mjs';
import { readOptions } from './options.mjs';

/** `fleet reset [--yes]`: forgets all data of the fleet. It asks first. */
export default async function reset(args) {
  const { values } = readOptions(args, { yes: { type: 'boolean', short: 'y', default: false } });
  if (isAlive(readJson(LOCK_FILE))) throw new Failure('The fleet is running. End it first with: fleet down');
  if (!values.yes && !(await isConfirmed())) return 1;
  await removeFromOwnServers();
  fs.rmSync(shelterPath(FLEET_DIR), { recursive: true, force: true });
  fs.rmSync(FLEET_DIR, { recursive: true, force: true });
  say('all data of the fleet is gone');
}

async function isConfirmed() {
  if (!process.stdin.isTTY) throw new Failure('This removes all data of the fleet. Say so with: fleet reset --yes');
  const prompt = readline.createInterface({ input: process.stdin, output: process.stdout });
  const answer = await prompt.question('Remove all data of the fleet? [y/N] ');
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}
