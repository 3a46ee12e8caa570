import { readFileSync } from 'node:fs';

/** A running fleet, as `./fleet status --json` tells it. */
export interface FleetHandle {
  baseUrl: string;
  mailboxUrl: string;
  databaseUrl: string;
  redisUrl: string;
  natsUrl: string;
  natsAdminUrl: string;
  admin: { email: string; password: string };
  services: { name: string; state: string; pid: number; port: number; instances: { pid: number; port: number }[] }[];
}

/**
 * The fleet under test. `./fleet test e2e` starts one of its own and names its status file.
 * @throws Error when FLEET_STATUS is not set: a behaviour spec never guesses which fleet it may disturb
 */
export function fleetUnderTest(): FleetHandle {
  const file = process.env['FLEET_STATUS'];
  if (!file) throw new Error('FLEET_STATUS is not set: run these specs with "./fleet test e2e"');
  return JSON.parse(readFileSync(file, 'utf8')) as FleetHandle;
}
