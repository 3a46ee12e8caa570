#!/usr/bin/env node
// Entry point of ./fleet. It uses Node's own modules only: it installs the dependencies and compiles tools/src when they
// are missing or out of date, and then runs the command.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const DATA_DIR = path.resolve(process.env.FLEET_DATA_DIR || path.join(ROOT, '.data'));
const STAMP = path.join(ROOT, 'tools/dist/.stamp');
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/** Commands that need the packages as the lock file lists them; the others run with what is installed. */
const NEEDED_PACKAGES = { up: 'production', restart: 'production', test: 'all', bench: 'all' };

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // a closed pipe must not stop the clean-up
try {
  await installPackages(isRefused(process.argv.slice(2)) ? undefined : NEEDED_PACKAGES[process.argv[2]]);
  await compileTools();
} catch (error) {
  console.error(`fleet: ${error.message}`);
  process.exit(1);
}
const { main } = await import('./dist/cli.js');
await main(process.argv.slice(2));

/**
 * Installs missing packages. Development packages are added to what is installed, so that a running fleet is not
 * disturbed; `npm ci` replaces everything and therefore runs only while the fleet is stopped.
 */
async function installPackages(needed) {
  const lock = readPackages('package-lock.json');
  const installed = readPackages('node_modules/.package-lock.json');
  const missing = Object.entries(lock).filter(
    ([name, { optional, version }]) =>
      name.startsWith('node_modules/') && !optional && installed[name]?.version !== version,
  );
  const isOutdated = missing.some(([name, { dev }]) => installed[name] || !dev);
  const isUsable = ['typescript', 'execa', 'commander'].every((name) => installed[`node_modules/${name}`]);
  if (isUsable && (!needed || missing.length === 0 || (needed === 'production' && !isOutdated))) return;

  if (isUsable && !isOutdated) return npm('install', '--no-save');
  if (isFleetRunning()) {
    throw new Error('package-lock.json changed while the fleet is running. Run ./fleet down first, then try again.');
  }
  const hasDevelopment = Object.keys(installed).some((name) => lock[name]?.dev);
  await npm('ci', ...(needed === 'all' || hasDevelopment ? [] : ['--omit=dev']));
}

/** The command refuses a benchmark that does not exist; nothing is installed for it. */
function isRefused([command, ...args]) {
  return command === 'bench' && !args.some((name) => fs.existsSync(path.join(ROOT, 'bench/benchmarks', `${name}.mjs`)));
}

/** Tries npm's cache first: asking the registry about each package takes long. */
async function npm(...command) {
  console.error(`installing packages: npm ${command.join(' ')} ...`);
  const all = [...command, '--no-audit', '--no-fund', '--loglevel=error'];
  const run = (more) => runToEnd('npm', [...all, ...more], `npm ${command[0]} failed`);
  await run(['--prefer-offline']).catch(() => run([]));
}

/** Compiles the launcher when a source is newer than the last compilation. */
async function compileTools() {
  const sources = fs.readdirSync(path.join(ROOT, 'tools/src'), { recursive: true, encoding: 'utf8' });
  const files = ['tools/tsconfig.json', 'tools/src', ...sources.map((name) => path.join('tools/src', name))];
  const times = files.map((file) => fs.statSync(path.join(ROOT, file)).mtimeMs);
  const stamp = String(Math.max(...times));
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === stamp) return;
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  await runToEnd(process.execPath, [compiler, '-b', 'tools'], 'The launcher does not compile');
  fs.writeFileSync(STAMP, stamp);
}

/** Runs a command to its end. A signal to this process ends the command first. */
function runToEnd(command, args, problem) {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { cwd: ROOT, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      for (const signal of Object.keys(SIGNALS)) process.removeAllListeners(signal);
      if (error) reject(new Error(`${problem}:\n${(stdout + stderr).trim() || error.message}`));
      else resolve();
    });
    for (const [signal, code] of Object.entries(SIGNALS)) {
      process.once(signal, () => child.once('close', () => process.exit(code)).kill(signal));
    }
  });
}

function readPackages(file) {
  const full = path.join(ROOT, file);
  return fs.existsSync(full) ? JSON.parse(fs.readFileSync(full, 'utf8')).packages : {};
}

function isFleetRunning() {
  try {
    process.kill(JSON.parse(fs.readFileSync(path.join(DATA_DIR, 'dev/lock.json'), 'utf8')).pid, 0);
    return true;
  } catch (error) {
    return !['ENOENT', 'ESRCH'].includes(error.code); // a damaged lock may be that of a running fleet
  }
}
