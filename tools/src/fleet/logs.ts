import fs from 'node:fs';
import { ensureDir, LOG_DIR, logFileOf } from '../paths.js';

const MAX_BYTES = 10 * 1024 * 1024;

/** Returns the names of all logs: instances, stores, the launcher. */
export function logNames(): string[] {
  const files = fs.existsSync(LOG_DIR) ? fs.readdirSync(LOG_DIR) : [];
  const logs = files.filter((file) => file.endsWith('.log'));
  return logs.map((file) => file.slice(0, -'.log'.length)).sort();
}

/** Limits each log to 10 MB: a larger one is copied to `<name>.log.old` and emptied, since its process keeps it open. */
export function startLogRotation(): void {
  ensureDir(LOG_DIR, 0o700);
  const rotate = () => {
    for (const file of logNames().map(logFileOf)) {
      if (fs.statSync(file).size <= MAX_BYTES) continue;
      fs.copyFileSync(file, `${file}.old`);
      fs.truncateSync(file);
    }
  };
  rotate();
  setInterval(rotate, 60_000).unref();
}
