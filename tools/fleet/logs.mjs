import fs from 'node:fs';
import path from 'node:path';
import { LOG_DIR } from './layout.mjs';

const TOO_LARGE_BYTES = 10 * 1024 * 1024;

/** Logs are kept from run to run; one that has grown large makes room, and its last content stays beside it. */
export function rotateLogs() {
  for (const name of logNames()) {
    const file = path.join(LOG_DIR, `${name}.log`);
    if (fs.statSync(file).size > TOO_LARGE_BYTES) fs.renameSync(file, `${file}.old`);
  }
}

/** The names of all logs: instances, stores, the launcher. */
export function logNames() {
  if (!fs.existsSync(LOG_DIR)) return [];
  const files = fs.readdirSync(LOG_DIR).filter((file) => file.endsWith('.log'));
  return files.map((file) => file.slice(0, -'.log'.length)).sort();
}
