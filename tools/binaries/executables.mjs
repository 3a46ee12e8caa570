import fs from 'node:fs';
import path from 'node:path';
import { run } from '../processes/run.mjs';

/** The full path of a command on PATH (and in `more` folders), or null. */
export function onPath(name, more = []) {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...more].filter(Boolean);
  for (const folder of folders) {
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile()) return file;
    } catch {
      // not here
    }
  }
  return null;
}

/** `[major, minor]` as the binary itself says, or null when it does not run. */
export async function versionOf(binary, env = {}) {
  const { status, stdout } = await run(binary, ['--version'], {
    env: { ...process.env, ...env },
    cwd: '/',
    timeoutMs: 10_000,
  });
  return status === 0 ? versionIn(stdout) : null;
}

/** Finds `7.0.15`, `v2.14.0`, `15.4` in a text. */
export function versionIn(text) {
  const match = /(\d+)\.(\d+)/.exec(text);
  return match ? [Number(match[1]), Number(match[2])] : null;
}

export function atLeast([major, minor], [wantedMajor, wantedMinor]) {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
