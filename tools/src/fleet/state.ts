import fs from 'node:fs';
import { FleetError } from '../errors.js';
import { ensureDir, FLEET_DIR, LOCK_FILE, readJson, STATE_FILE, writeAtomically } from '../paths.js';
import { isAlive, type ProcessRecord, startTimeOf } from '../processes/process-record.js';
import type { ServiceStatus } from './service-instances.js';

export interface FleetSummary {
  baseUrl: string;
  docsUrl: string;
  mailboxUrl: string;
  databaseUrl: string;
  redisUrl: string;
  natsUrl: string;
  natsAdminUrl: string;
  admin: { email: string; password: string };
  localReceivers: boolean;
  logs: string;
}

/** State file of the launcher: other commands and the next launcher read what runs. Contains passwords. */
export interface FleetState {
  launcher?: Pick<ProcessRecord, 'pid' | 'start'>;
  phase: 'starting' | 'ready' | 'stopped';
  summary?: FleetSummary;
  records: ProcessRecord[];
  /** Ports by process name, preferred at the next start. */
  ports: Partial<Record<string, number>>;
  /** Servers of the user's own that contain data of this fleet. */
  externalStores: string[];
  services: ServiceStatus[];
}

export type RunningFleet = FleetState & Required<Pick<FleetState, 'launcher' | 'summary'>>;

export const emptyState = (): FleetState => ({
  phase: 'stopped',
  records: [],
  ports: {},
  externalStores: [],
  services: [],
});

export const readState = (): FleetState => readJson<FleetState>(STATE_FILE) ?? emptyState();
export const writeState = (state: FleetState): void => writeAtomically(STATE_FILE, JSON.stringify(state, null, 2));

/** @throws FleetError unless the fleet runs and is ready */
export function getRunningFleet(): RunningFleet {
  const state = readState();
  if (!isAlive(state.launcher)) throw new FleetError('The fleet is not running. Start it with: ./fleet up');
  if (!state.summary) throw new FleetError('The fleet is still starting. See: ./fleet status');
  return state as RunningFleet;
}

export const lockOwner = (): FleetState['launcher'] | null => readJson(LOCK_FILE);

/**
 * Makes this process the only launcher of the data folder: two would write the same stores, which NATS and Redis do not
 * notice.
 * @throws FleetError when another launcher runs
 */
export function takeLock(): void {
  const draft = `${ensureDir(FLEET_DIR)}/lock.${process.pid}`;
  const owner = lockOwner();
  const alreadyRuns = () =>
    new FleetError(`The fleet is already running (pid ${lockOwner()?.pid}). See: ./fleet status`);
  if (isAlive(owner)) throw alreadyRuns();
  fs.writeFileSync(draft, JSON.stringify({ pid: process.pid, start: startTimeOf(process.pid) }), { mode: 0o600 });
  fs.rmSync(LOCK_FILE, { force: true });
  try {
    fs.linkSync(draft, LOCK_FILE); // fails when another launcher created it in the meantime
  } catch {
    throw alreadyRuns();
  } finally {
    fs.rmSync(draft);
  }
}

export const hasLock = (): boolean => lockOwner()?.pid === process.pid;
