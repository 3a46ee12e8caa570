import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { readJson, ROOT } from '../paths.mjs';
import { run } from '../processes/run.mjs';

const LOCK = path.join(ROOT, 'package-lock.json');
const STAMP = path.join(ROOT, 'node_modules/.fleet-stamp');

/**
 * Installs the dependencies when the lock (or the binary interface of Node) is not the one they were installed from.
 * @param {(name: string, work: () => Promise<void>) => Promise<void>} step
 * @param {{ everything?: boolean }} options  building and running needs a third of what linting and testing needs,
 *   so `up` leaves the rest out; whoever once had everything keeps everything
 */
export async function installDependencies(step, { everything = false } = {}) {
  const lock = JSON.parse(fs.readFileSync(LOCK, 'utf8'));
  const stamp = createHash('sha256').update(JSON.stringify(lock)).update(process.versions.modules).digest('hex');
  const installed = readJson(STAMP) ?? { everything: false };
  if (installed.stamp === stamp && (installed.everything || !everything)) return;

  const byHand = installed.stamp ? null : installedByHand(lock);
  if (byHand && (byHand.everything || !everything)) return writeStamp(stamp, byHand.everything);
  const all = everything || installed.everything || !isBuiltWithoutDev(lock);
  await step(`dependencies: npm ci${all ? '' : ' --omit=dev'}`, () => npmCi(all ? [] : ['--omit=dev']));
  writeStamp(stamp, all);
}

const writeStamp = (stamp, everything) => fs.writeFileSync(STAMP, JSON.stringify({ stamp, everything }));

/** Only when the compiler stands among the dependencies can anything be built without the development ones. */
const isBuiltWithoutDev = (lock) => Boolean(lock.packages[''].dependencies?.typescript);

/** First from npm's cache alone where it has what is needed: asking the registry about each package takes long. */
async function npmCi(options) {
  const always = ['ci', '--no-audit', '--no-fund', '--loglevel=error', ...options];
  let result = await run('npm', [...always, '--prefer-offline'], { cwd: ROOT });
  if (result.status !== 0) result = await run('npm', always, { cwd: ROOT });
  if (result.status === 0) return;
  throw new Failure(`npm ci failed:\n${(result.stderr || result.stdout || String(result.error)).trim()}`);
}

/**
 * What somebody has installed without this launcher, by npm's own list; null when it is not what the lock says.
 * @returns {{ everything: boolean } | null}
 */
function installedByHand({ packages: wanted }) {
  const found = readJson(path.join(ROOT, 'node_modules/.package-lock.json'))?.packages;
  if (!found) return null;
  const isSame = (name) => found[name].version === wanted[name]?.version && found[name].link === wanted[name]?.link;
  const missing = Object.keys(wanted).filter(
    (name) => name.startsWith('node_modules/') && !wanted[name].optional && !found[name],
  );
  const onlyDev = missing.every((name) => wanted[name].dev);
  return Object.keys(found).every(isSame) && onlyDev ? { everything: missing.length === 0 } : null;
}
