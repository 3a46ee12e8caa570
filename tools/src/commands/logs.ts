import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { FleetError } from '../console.js';
import { ensureDir, LOG_DIR, logFileOf } from '../paths.js';

const NOT_SERVICES = ['postgres', 'redis', 'nats', 'fleet'];
const MAX_BYTES = 10 * 1024 * 1024;

/** Prints the end of one log, or of the logs of all services, with `tail`. */
export function logs(service: string | undefined, { follow, lines }: { follow?: boolean; lines: number }): number {
  const all = logNames();
  const names = all.filter((name) =>
    service ? name === service || name.replace(/-\d+$/, '') === service : !NOT_SERVICES.includes(name),
  );
  if (!all.length) throw new FleetError('There are no logs yet.');
  if (!names.length) throw new FleetError(`There is no log "${service}". Logs: ${all.join(', ')}`);
  const args = ['-n', String(lines), ...(follow ? ['-F'] : []), ...names.map(logFileOf)];
  return spawnSync('tail', args, { stdio: 'inherit' }).status ?? 0;
}

function logNames(): string[] {
  const files = fs.existsSync(LOG_DIR) ? fs.readdirSync(LOG_DIR) : [];
  return files.flatMap((file) => /^(.+)\.log$/.exec(file)?.[1] ?? []).sort();
}

/** Limits each log to 10 MB: a larger one is copied to `<name>.log.old` and emptied, since its process keeps it open. */
export function startLogRotation(): void {
  ensureDir(LOG_DIR, 0o700);
  const rotate = () => {
    for (const file of logNames()
      .map(logFileOf)
      .filter((name) => fs.statSync(name).size > MAX_BYTES)) {
      fs.copyFileSync(file, `${file}.old`);
      fs.truncateSync(file);
    }
  };
  rotate();
  setInterval(rotate, 60_000).unref();
}
