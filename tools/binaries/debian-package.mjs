import fs from 'node:fs';
import path from 'node:path';
import { makeDir, TOOLS_DIR } from '../paths.mjs';
import { firstLine, run } from '../processes/run.mjs';
import { onPath } from './executables.mjs';
import { swapIn } from './swap-in.mjs';

/**
 * Downloads packages of a Debian or Ubuntu system with what they miss, and unpacks them privately: nothing is
 * installed, no root right is needed, no system service starts. apt checks signatures and hashes.
 * @returns {Promise<{ root: string, env: object } | null>} null where there is no apt
 */
export async function debianPackage(name, companions, say) {
  if (!onPath('apt-get') || !onPath('dpkg-deb')) return null;
  const target = path.join(TOOLS_DIR, `debian-${name}`);
  const isGood = () => fs.existsSync(path.join(target, '.complete'));
  if (!isGood()) {
    say(`fetching ${name} from the system's package source (unpacked privately, once)`);
    const temporary = `${target}.tmp-${process.pid}`;
    try {
      await unpackInto(temporary, [name, ...companions]);
      swapIn(temporary, target, isGood);
    } finally {
      fs.rmSync(temporary, { recursive: true, force: true });
    }
  }
  const root = path.join(target, 'root');
  return { root, env: { LD_LIBRARY_PATH: foldersWithLibraries(root).join(':') } };
}

async function unpackInto(dir, packages) {
  fs.rmSync(dir, { recursive: true, force: true });
  for (const part of ['lists/partial', 'cache/archives/partial', 'debs', 'root']) makeDir(path.join(dir, part));
  const isRoot = process.getuid?.() === 0;
  const own = ['-o', `Dir::State::lists=${dir}/lists`, '-o', `Dir::Cache=${dir}/cache`];
  if (isRoot) own.push('-o', 'APT::Sandbox::User=root');

  // Own lists work on images that ship none and take no system lock. A broken third-party source is not fatal here:
  // the next step tells whether the package is known.
  await run('apt-get', [...own, '-qq', 'update'], { timeoutMs: 180_000 });
  const names = await missingPackages(own, packages);
  const download = await run('apt-get', [...own, '-qq', 'download', ...names], {
    cwd: path.join(dir, 'debs'),
    timeoutMs: 180_000,
  });
  const files = fs.readdirSync(path.join(dir, 'debs'));
  if (!files.length) throw new Error(`apt-get download failed: ${firstLine(download)}`);
  for (const file of files) {
    const unpacked = await run('dpkg-deb', ['-x', path.join(dir, 'debs', file), path.join(dir, 'root')]);
    if (unpacked.status !== 0) throw new Error(`cannot unpack ${file}: ${firstLine(unpacked)}`);
  }
  for (const part of ['lists', 'cache', 'debs']) fs.rmSync(path.join(dir, part), { recursive: true });
  fs.writeFileSync(path.join(dir, '.complete'), names.join(' '));
}

/** `--reinstall`, because a package that is installed already would be left out of the list, and its files are needed. */
async function missingPackages(own, packages) {
  const options = ['--print-uris', '-qq', '-y', '--no-install-recommends', '--reinstall'];
  const listed = await run('apt-get', [...own, 'install', ...options, ...packages]);
  const names = [...listed.stdout.matchAll(/^'[^']+' (\S+?)_/gm)].map((match) => match[1]);
  if (!names.length) throw new Error(`apt does not know ${packages[0]}: ${firstLine(listed)}`);
  return names;
}

function foldersWithLibraries(root) {
  const entries = fs.readdirSync(root, { withFileTypes: true, recursive: true });
  const folders = entries
    .filter((entry) => /\.so(\.|$)/.test(entry.name))
    .map((entry) => entry.parentPath ?? entry.path);
  return [...new Set(folders)];
}
