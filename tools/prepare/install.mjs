import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { readJson, ROOT } from '../paths.mjs';
import { run } from '../processes/run.mjs';

const LOCK = path.join(ROOT, 'package-lock.json');
const STAMP = path.join(ROOT, 'node_modules/.fleet-stamp');

/**
 * Installs the dependencies when the lock (or the major version of Node) is not the one they were installed from.
 * @returns {Promise<boolean>} whether it installed
 */
export async function installDependencies(step) {
  const stamp = createHash('sha256').update(fs.readFileSync(LOCK)).update(process.versions.modules).digest('hex');
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === stamp) return false;
  const isUpToDate = !fs.existsSync(STAMP) && matchesLock();
  if (!isUpToDate) await step('dependencies: npm ci', npmCi);
  fs.writeFileSync(STAMP, stamp);
  return !isUpToDate;
}

async function npmCi() {
  const result = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: ROOT });
  if (result.status === 0) return;
  throw new Failure(`npm ci failed:\n${(result.stderr || result.stdout || String(result.error)).trim()}`);
}

/** Whether somebody has already installed by hand what the lock says: npm keeps its own list of what it installed. */
function matchesLock() {
  const installed = readJson(path.join(ROOT, 'node_modules/.package-lock.json'))?.packages;
  if (!installed) return false;
  const wanted = JSON.parse(fs.readFileSync(LOCK, 'utf8')).packages;
  const same = (name) =>
    installed[name]?.version === wanted[name]?.version && installed[name]?.link === wanted[name]?.link;
  const needed = Object.keys(wanted).filter((name) => name.startsWith('node_modules/') && !wanted[name].optional);
  return needed.every((name) => installed[name] && same(name)) && Object.keys(installed).every(same);
}
