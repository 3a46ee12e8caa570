import { spawnSync } from 'node:child_process';
import { FleetError } from '../errors.js';
import { logNames } from '../fleet/logs.js';
import { logFileOf } from '../paths.js';

const NOT_SERVICES = ['postgres', 'redis', 'nats', 'fleet'];

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
