import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { DATA_DIR, makeDir, readJson } from '../paths.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';

const PREFIX = /^(throwaway|test)-\d+-/;

/**
 * A folder in the data folder that belongs to this process. What earlier processes left, because they and their
 * watchdogs were killed, is removed on the way.
 * @param {'throwaway' | 'test'} kind
 */
export function temporaryDir(kind) {
  makeDir(DATA_DIR);
  for (const name of fs.readdirSync(DATA_DIR).filter((entry) => PREFIX.test(entry))) removeIfAbandoned(name);
  const dir = makeDir(path.join(DATA_DIR, `${kind}-${process.pid}-${randomBytes(3).toString('hex')}`));
  const owner = { pid: process.pid, start: startOf(process.pid) };
  fs.writeFileSync(path.join(dir, 'owner.json'), JSON.stringify(owner));
  return dir;
}

function removeIfAbandoned(name) {
  const dir = path.join(DATA_DIR, name);
  const owner = readJson(path.join(dir, 'owner.json'));
  if (owner && !isAlive(owner)) fs.rmSync(dir, { recursive: true, force: true });
}
