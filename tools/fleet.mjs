#!/usr/bin/env node
// Entry point of ./fleet. It uses Node's own modules only: it installs the dependencies and compiles tools/src when they
// are missing or out of date, and then runs the command.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '..');
const DATA_DIR = path.resolve(process.env.FLEET_DATA_DIR || path.join(ROOT, '.data'));
const COMPILED = path.join(ROOT, 'tools/dist');
const STAMP = path.join(COMPILED, '.stamp');

/** Commands that need the packages as the lock file lists them; the others run with what is installed. */
const NEEDED_PACKAGES = { up: 'production', restart: 'production', test: 'all', bench: 'all' };

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // a closed pipe must not stop the clean-up
try {
  await installPackages(NEEDED_PACKAGES[process.argv[2]]);
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
  const isMissing = (name) => !installed[name] || installed[name].version !== lock[name].version;
  const missing = Object.keys(lock).filter(
    (name) => name.startsWith('node_modules/') && !lock[name].optional && isMissing(name),
  );
  const isOutdated = missing.some((name) => installed[name] || !lock[name].dev);
  const isUsable = ['typescript', 'execa', 'commander'].every((name) => installed[`node_modules/${name}`]);
  if (isUsable && (!needed || missing.length === 0 || (needed === 'production' && !isOutdated))) return;

  if (isUsable && !isOutdated) return npm('install', '--no-save');
  if (isFleetRunning()) {
    throw new Error('package-lock.json changed while the fleet is running. Run ./fleet down first, then try again.');
  }
  const hasDevelopment = Object.keys(installed).some((name) => lock[name]?.dev);
  await npm('ci', ...(needed === 'all' || hasDevelopment ? [] : ['--omit=dev']));
}

/** Tries npm's cache first: asking the registry about each package takes long. */
async function npm(...command) {
  console.error(`installing packages: npm ${command.join(' ')} ...`);
  const always = ['--no-audit', '--no-fund', '--loglevel=error'];
  const first = await run('npm', [...command, ...always, '--prefer-offline']);
  const result = first.code === 0 ? first : await run('npm', [...command, ...always]);
  if (result.code !== 0) throw new Error(`npm ${command[0]} failed:\n${result.output.trim()}`);
}

/** Compiles the launcher when a source is newer than the compiled files. */
async function compileTools() {
  const sources = fs.readdirSync(path.join(ROOT, 'tools/src'), { recursive: true, withFileTypes: true });
  const files = sources.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const file of [...files.sort(), path.join(ROOT, 'tools/tsconfig.json')]) {
    const { size, mtimeMs } = fs.statSync(file);
    hash.update(`${file}:${size}:${mtimeMs}\n`);
  }
  const stamp = hash.digest('hex');
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8') === stamp) return;
  const compiler = path.join(ROOT, 'node_modules/typescript/bin/tsc');
  const { code, output } = await run(process.execPath, [compiler, '-b', 'tools']);
  if (code !== 0) throw new Error(`The launcher does not compile:\n${output.trim()}`);
  fs.writeFileSync(STAMP, stamp);
}

/** Runs a command to its end. A signal to this process ends the command first. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const stop = (signal, number) => {
      child.kill(signal);
      child.once('close', () => process.exit(128 + number));
    };
    const handlers = {
      SIGINT: () => stop('SIGINT', 2),
      SIGTERM: () => stop('SIGTERM', 15),
      SIGHUP: () => stop('SIGHUP', 1),
    };
    for (const [signal, handler] of Object.entries(handlers)) process.once(signal, handler);
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => {
      for (const [signal, handler] of Object.entries(handlers)) process.off(signal, handler);
      resolve({ code, output });
    });
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
    return error.code === 'EPERM'; // the process exists and belongs to another user
  }
}
