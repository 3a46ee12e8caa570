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

/** Ends of messages about a file: one that cannot be created again, and one that the next start writes again. */
export const RESTORE = 'Restore it, or remove all data of this fleet with: ./fleet reset';
export const DELETE = 'If no fleet runs, delete this file: data is not affected.';

/** Reads a JSON file that is like the sample, null when there is none. @throws FleetError when damaged, so that it is not replaced */
export function readJson<T>(file: string, sample?: unknown, remedy = RESTORE): T | null {
  if (!fs.statSync(file, { throwIfNoEntry: false })) return null;
  const content = parseJson<T>(fs.readFileSync(file, 'utf8'), sample);
  if (content === null) throw new FleetError(`${file} is damaged. ${remedy}`);
  return content;
}

/** Returns the content of a JSON text, null when it is no JSON or does not look like the sample. */
export function parseJson<T>(text: string, sample?: unknown): T | null {
  try {
    const content: unknown = JSON.parse(text);
    return isLike(content, sample) ? (content as T) : null;
  } catch {
    return null;
  }
}

/** Compares types: an object has the fields of the sample, each element of a list is like the first of the sample. */
function isLike(value: unknown, sample: unknown): boolean {
  if (sample === undefined) return true;
  if (Array.isArray(sample)) return Array.isArray(value) && value.every((element) => isLike(element, sample[0]));
  if (typeof sample !== 'object' || sample === null) return typeof value === typeof sample;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(sample).every(([name, field]) => isLike((value as Record<string, unknown>)[name], field));
}
