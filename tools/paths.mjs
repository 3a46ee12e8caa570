import fs from 'node:fs';
import path from 'node:path';

/** The checkout. */
export const ROOT = path.resolve(import.meta.dirname, '..');

/** Everything the launcher writes; a second value of FLEET_DATA_DIR is a second, fully separate fleet. */
export const DATA_DIR = path.resolve(process.env.FLEET_DATA_DIR || path.join(ROOT, '.data'));

/** Server binaries fetched once; shared between fleets when FLEET_TOOLS_DIR says so. */
export const TOOLS_DIR = path.resolve(process.env.FLEET_TOOLS_DIR || path.join(DATA_DIR, 'tools'));

/** Makes a folder (and hides the data folder from git the first time). */
export function makeDir(dir, mode = 0o755) {
  fs.mkdirSync(dir, { recursive: true, mode });
  const ignore = path.join(DATA_DIR, '.gitignore');
  if (dir.startsWith(DATA_DIR) && !fs.existsSync(ignore)) fs.writeFileSync(ignore, '*\n');
  return dir;
}

/** Writes a file so that a reader sees the old text or the new one, never half of it. */
export function writeAtomically(file, text, mode = 0o600) {
  const temporary = `${file}.${process.pid}.tmp`;
  fs.writeFileSync(temporary, text, { mode });
  fs.renameSync(temporary, file);
}

/** The parsed content of a JSON file, or `fallback` when it is missing or broken. */
export function readJson(file, fallback = null) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return fallback;
  }
}
