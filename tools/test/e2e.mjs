import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../failure.mjs';
import { ROOT, TOOLS_DIR } from '../paths.mjs';
import { isAlive, startOf } from '../processes/identity.mjs';
import { run } from '../processes/run.mjs';
import { stop } from '../processes/stop.mjs';
import { poll } from '../processes/wait.mjs';
import { tailOf } from '../processes/keeper.mjs';
import { runJest } from './jest.mjs';

const LAUNCHER = path.join(ROOT, 'tools/fleet.mjs');
const FIRST_PORT = '18080'; // leaves the port of a developer's own fleet alone

/** Specs that kill what the others rely on. */
const OUTAGES = '/src/outages/';
const CONFIG = ['-c', 'apps/fleet-e2e/jest.config.mjs', '--passWithNoTests'];

/** The behavior specs against a fleet of their own, with stores of its own; those that break it last, one by one. */
export async function e2e({ dir, jestArgs }) {
  const fleet = await startFleet(dir);
  const env = { ...fleet.env, FLEET_STATUS: fleet.statusFile };
  const run = (name, args, workers) => runJest([...CONFIG, ...args, ...jestArgs], { dir, name, env, workers });
  try {
    const calm = await run('e2e', ['--testPathIgnorePatterns', OUTAGES], 2);
    const outages = await run('outages', ['--testPathPatterns', OUTAGES], 1);
    return {
      ok: calm.ok && outages.ok,
      passed: calm.passed + outages.passed,
      failed: calm.failed + outages.failed,
    };
  } finally {
    await fleet.stop();
  }
}

async function startFleet(dir) {
  const dataDir = path.join(dir, 'fleet');
  const env = {
    ...withoutStores(process.env),
    FLEET_DATA_DIR: dataDir,
    FLEET_TOOLS_DIR: TOOLS_DIR,
    FLEET_PRIVATE: '1',
    FLEET_PORT: FIRST_PORT,
  };
  const logFile = path.join(dir, 'fleet.log');
  const log = fs.openSync(logFile, 'w');
  const child = spawn(
    process.execPath,
    [LAUNCHER, 'up', '--local-receivers', '--replicas', 'identity=2,provisioning=2'],
    {
      cwd: ROOT,
      detached: true, // Ctrl-C reaches this process, which then stops the fleet in order
      stdio: ['ignore', log, log],
      env: { ...env, FLEET_ENDS_WITH_PARENT: '1' },
    },
  );
  fs.closeSync(log);
  const record = { pid: child.pid, start: startOf(child.pid), signal: 'SIGTERM' };
  const status = await poll(async () => !isAlive(record) || (await readyStatus(env)), {
    timeoutMs: 180_000,
    everyMs: 250,
  });
  if (typeof status !== 'string') {
    await stop(record, 60_000);
    throw new Failure(`The fleet for the behavior specs did not start:\n${tailOf(logFile, 40)}`);
  }
  const statusFile = path.join(dir, 'status.json');
  fs.writeFileSync(statusFile, status, { mode: 0o600 });
  return { env, statusFile, stop: () => stop(record, 60_000) };
}

async function readyStatus(env) {
  const { status, stdout } = await run(process.execPath, [LAUNCHER, 'status', '--json'], { env });
  return status === 0 ? stdout : null;
}

/** Tests never meet the data of stores that were there before. */
function withoutStores({ DATABASE_URL, REDIS_URL, NATS_URL, ...env }) {
  return env;
}
