import fs from 'node:fs';
import path from 'node:path';
import { FleetError } from './console.js';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Everything the launcher writes; another value of FLEET_DATA_DIR is another, separate fleet. */
export const DATA_DIR = path.resolve(process.env['FLEET_DATA_DIR'] || path.join(ROOT, '.data'));

/** Server programs, fetched once; shared between fleets when FLEET_TOOLS_DIR is set. */
export const TOOLS_DIR = path.resolve(process.env['FLEET_TOOLS_DIR'] || path.join(DATA_DIR, 'tools'));

export const FLEET_DIR = path.join(DATA_DIR, 'dev');
export const LOG_DIR = path.join(FLEET_DIR, 'log');
export const MAILBOX_DIR = path.join(FLEET_DIR, 'mailbox');
export const LOCK_FILE = path.join(FLEET_DIR, 'lock.json');
export const STATE_FILE = path.join(FLEET_DIR, 'state.json');
export const SECRETS_FILE = path.join(FLEET_DIR, 'secrets.json');
/** Exists while webhooks may be sent to this machine. */
export const LOCAL_RECEIVERS_FILE = path.join(FLEET_DIR, 'local-receivers');

export const logFileOf = (process: string): string => path.join(LOG_DIR, `${process}.log`);

export function logNames(): string[] {
  const files = fs.existsSync(LOG_DIR) ? fs.readdirSync(LOG_DIR) : [];
  return files.flatMap((file) => /^(.+)\.log$/.exec(file)?.[1] ?? []).sort();
}

/** Creates a folder and its parents. Node's own recursive mkdir never returns for some paths below /proc. */
export function ensureDir(dir: string, mode = 0o755): string {
  if (!fs.existsSync(dir)) {
    ensureDir(path.dirname(dir));
    try {
      fs.mkdirSync(dir, { mode });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (dir === DATA_DIR) fs.writeFileSync(path.join(dir, '.gitignore'), '*\n');
  }
  return dir;
}

/** Writes a file so that a reader sees the old text or the new one, never a part. */
export function writeAtomically(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, text, { mode: 0o600 });
  fs.renameSync(temporary, file);
}

/** Reads a JSON file, null when there is none. @throws FleetError when it is damaged, so that it is not replaced */
export function readJson<T>(file: string): T | null {
  if (!fs.statSync(file, { throwIfNoEntry: false })) return null;
  const text = fs.readFileSync(file, 'utf8');
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new FleetError(`${file} is damaged. Restore it, or remove all data of this fleet with: ./fleet reset`);
  }
}
