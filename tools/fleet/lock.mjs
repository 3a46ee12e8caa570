import fs from 'node:fs';
import { Failure } from '../failure.mjs';
import { FLEET_DIR, LOCK_FILE } from './layout.mjs';
import { makeDir, readJson } from '../paths.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';
import { readState } from './state.mjs';

/**
 * Makes this process the only launcher of this data folder. Two of them would write one store each from two sides,
 * and neither NATS nor Redis would notice.
 * @throws {Failure} that names the one that runs
 */
export function takeLock() {
  makeDir(FLEET_DIR);
  const me = JSON.stringify({ pid: process.pid, start: startOf(process.pid) });
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      fs.writeFileSync(LOCK_FILE, me, { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const owner = readJson(LOCK_FILE);
    if (isAlive(owner)) throw new Failure(alreadyRunning(owner));
    fs.rmSync(LOCK_FILE, { force: true });
  }
  throw new Failure(`Cannot take the lock ${LOCK_FILE}.`);
}

export const holdsLock = () => readJson(LOCK_FILE)?.pid === process.pid;

export function releaseLock() {
  if (holdsLock()) fs.rmSync(LOCK_FILE, { force: true });
}

function alreadyRunning(owner) {
  const { summary } = readState();
  const where = summary?.baseUrl ? ` at ${summary.baseUrl}` : '';
  return `The fleet is already running${where} (pid ${owner.pid}).\n       See "fleet status", or end it with "fleet down".`;
}
