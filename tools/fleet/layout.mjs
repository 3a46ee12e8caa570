import path from 'node:path';
import { DATA_DIR } from '../paths.mjs';

/** The folder of the running fleet and what stands in it. */
export const FLEET_DIR = path.join(DATA_DIR, 'dev');
export const LOG_DIR = path.join(FLEET_DIR, 'log');
export const MAILBOX_DIR = path.join(FLEET_DIR, 'mailbox');
export const LOCK_FILE = path.join(FLEET_DIR, 'lock.json');
export const STATE_FILE = path.join(FLEET_DIR, 'state.json');
export const SECRETS_FILE = path.join(FLEET_DIR, 'secrets.json');
export const LAUNCHER_LOG = path.join(LOG_DIR, 'fleet.log');

export const logFileOf = (instance) => path.join(LOG_DIR, `${instance}.log`);
