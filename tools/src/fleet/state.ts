import fs from 'node:fs';
import { FleetError, say } from '../console.js';
import {
  DELETE,
  ensureDir,
  FLEET_DIR,
  LOCAL_RECEIVERS_FILE,
  LOCK_FILE,
  readJson,
  STATE_FILE,
  writeAtomically,
} from '../paths.js';
import { identify, isAlive, type ProcessRecord, stopAll } from '../processes/process-record.js';
import type { ServiceStatus } from './services.js';

type Url = 'accountUrl' | 'baseUrl' | 'docsUrl' | 'mailboxUrl' | 'databaseUrl' | 'redisUrl' | 'natsUrl';

export interface FleetSummary extends Record<Url, string> {
  /** The console of PgBouncer, when the services go through it. */
  poolerUrl?: string;
  /** The standby of PostgreSQL, as the administrator who may promote it. */
  standbyUrl?: string;
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

const EMPTY: FleetState = { phase: 'stopped', records: [], ports: {}, externalStores: [], services: [] };
export const emptyState = (): FleetState => structuredClone(EMPTY);
/** Samples of the files of a launcher. */
const LAUNCHER = { pid: 0, start: '' };
const SERVICE = { name: '', state: '', instances: [{ state: '', port: 0 }] };
const STATE = { ...EMPTY, records: [{ ...LAUNCHER, name: '' }], externalStores: [''], services: [SERVICE] };

export const readState = (): FleetState => readJson<FleetState>(STATE_FILE, STATE, DELETE) ?? emptyState();
export const writeState = (state: FleetState): void => writeAtomically(STATE_FILE, JSON.stringify(state, null, 2));

/** @throws FleetError unless the fleet runs and is ready */
export function getRunningFleet(): RunningFleet {
  const state = readState();
  if (!isAlive(state.launcher)) throw new FleetError('The fleet is not running. Start it with: ./fleet up');
  if (!state.summary) throw new FleetError('The fleet is still starting. See: ./fleet status');
  return state as RunningFleet;
}

/** Stops the processes of a launcher that was killed together with its watchdog. @returns whether there were any */
export async function stopOrphans(): Promise<boolean> {
  const orphans = readState().records.filter(isAlive);
  const names = orphans.map(({ name }) => name.replace('store:', ''));
  if (names.length) say(`stopping processes of an earlier run: ${names.join(', ')}`);
  await stopAll(orphans);
  return names.length > 0;
}

/** Sets what the next start of a service reads: whether webhooks may be sent to this machine. */
export function allowLocalReceivers(isAllowed: boolean): void {
  if (isAllowed) fs.writeFileSync(LOCAL_RECEIVERS_FILE, '');
  else fs.rmSync(LOCAL_RECEIVERS_FILE, { force: true });
}

export const areLocalReceiversAllowed = (): boolean => fs.existsSync(LOCAL_RECEIVERS_FILE);

export const lockOwner = (): FleetState['launcher'] | null => readJson(LOCK_FILE, LAUNCHER, DELETE);

/** Makes this process the only launcher of the data folder. @throws FleetError when another launcher runs */
export function takeLock(): void {
  const draft = `${ensureDir(FLEET_DIR)}/lock.${process.pid}`;
  const owner = lockOwner();
  const message = () => `The fleet is already running (pid ${lockOwner()?.pid}). See: ./fleet status`;
  if (isAlive(owner)) throw new FleetError(message());
  fs.writeFileSync(draft, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  fs.rmSync(LOCK_FILE, { force: true });
  try {
    fs.linkSync(draft, LOCK_FILE); // fails when another launcher created it in the meantime
  } catch {
    throw new FleetError(message());
  } finally {
    fs.rmSync(draft);
  }
}

/** Removes this process from the state file, and its lock. Does nothing when another launcher runs. */
export function releaseLock({ ports, externalStores }: FleetState): void {
  if (lockOwner()?.pid !== process.pid) return;
  writeState({ ...emptyState(), ports, externalStores });
  fs.rmSync(LOCK_FILE);
}
