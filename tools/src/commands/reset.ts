import fs from 'node:fs';
import readline from 'node:readline/promises';
import { say } from '../console.js';
import { FleetError } from '../errors.js';
import { lockOwner, readState } from '../fleet/state.js';
import { FLEET_DIR } from '../paths.js';
import { isAlive } from '../processes/process-record.js';

/** Removes all data of the fleet, after a question. Also works when files of the data folder are damaged. */
export async function reset({ yes }: { yes?: boolean }): Promise<number> {
  if (isAlive(unlessDamaged(lockOwner))) throw new FleetError('The fleet is running. Stop it first with: ./fleet down');
  if (!yes && !(await isConfirmed())) return 1;
  const servers = unlessDamaged(readState)?.externalStores ?? [];
  if (servers.length) say(`remove database rmm_fleet, keys rmm:* and streams RMM_* on ${servers.join(', ')} yourself`);
  fs.rmSync(FLEET_DIR, { recursive: true, force: true });
  say('all data of the fleet is removed');
  return 0;
}

function unlessDamaged<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof FleetError) return null;
    throw error;
  }
}

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new FleetError('This removes all data of the fleet. Confirm with: ./fleet reset --yes');
  const prompt = readline.createInterface({ input: process.stdin, output: process.stdout });
  const reply = await prompt.question('Remove all data of the fleet? [y/N] ');
  prompt.close();
  return /^y(es)?$/i.test(reply.trim());
}
