import fs from 'node:fs';
import { ensureDir, LOG_DIR, logFileOf, logNames } from '../paths.js';

const MAX_BYTES = 10 * 1024 * 1024;

/** Limits each log to 10 MB: a larger one is copied to `<name>.log.old` and emptied, since its process keeps it open. */
export function startLogRotation(): void {
  ensureDir(LOG_DIR, 0o700);
  rotate();
  setInterval(rotate, 60_000).unref();
}

function rotate(): void {
  for (const file of logNames().map(logFileOf)) {
    if (fs.statSync(file).size <= MAX_BYTES) continue;
    fs.copyFileSync(file, `${file}.old`);
    fs.truncateSync(file);
  }
}
