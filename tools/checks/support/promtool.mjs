// The promtool of the checks of rules: the one named by PROMTOOL_PATH, on PATH, or unpacked by .ci/install-promtool.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const UNPACKED = path.resolve(import.meta.dirname, '../../../.data/tools/promtool/usr/bin/promtool');

/** Returns a promtool that runs, or null. */
export function findPromtool() {
  const candidates = [process.env.PROMTOOL_PATH, 'promtool', UNPACKED].filter(Boolean);
  return candidates.find((file) => spawnSync(file, ['--version']).status === 0) ?? null;
}
