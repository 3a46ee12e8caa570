import fs from 'node:fs';
import path from 'node:path';
import { FleetError } from '../errors.js';
import { ROOT, TOOLS_DIR } from '../paths.js';
import { tailOf } from '../processes/process-group.js';
import { stopProcess } from '../processes/process-record.js';
import { poll, run } from '../processes/run.js';
import { type Part, runJest, type TestContext } from './parts.js';

const LAUNCHER = path.join(ROOT, 'tools/fleet.mjs');
const FIRST_PORT = '18080'; // leaves the port of a developer's own fleet free
/** Specs that kill what the others need. */
const OUTAGES = '/src/outages/';
const EVERY_SERVICE_TWICE = 'identity=2,credentials=2,partner-gateway=2,provisioning=2,webhook-dispatcher=2';

/** Runs the end-to-end specs against a fleet of their own; those that stop its processes run last, one by one. */
export const e2e: Part = async (context) => {
  const { env, stop } = await startFleet(context);
  const config = ['-c', 'apps/fleet-e2e/jest.config.mjs', '--passWithNoTests', ...context.jestArgs];
  try {
    const first = await runJest(context, 'e2e', [...config, '--testPathIgnorePatterns', OUTAGES], env);
    const outages = ['--testPathIgnorePatterns', `^(?!.*${OUTAGES})`, '--maxWorkers=1'];
    const last = await runJest(context, 'outages', [...config, ...outages], env);
    return { ok: first.ok && last.ok, passed: first.passed + last.passed, failed: first.failed + last.failed };
  } finally {
    await stop();
  }
};

async function startFleet({ dir, group }: TestContext) {
  const own = { FLEET_DATA_DIR: path.join(dir, 'fleet'), FLEET_TOOLS_DIR: TOOLS_DIR, FLEET_PORT: FIRST_PORT };
  const privateStores = { DATABASE_URL: '', REDIS_URL: '', NATS_URL: '' };
  const env = { ...own, ...privateStores, FLEET_STATUS: path.join(dir, 'status.json') };
  const logFile = path.join(dir, 'fleet.log');
  const fleet = group.start({
    name: 'fleet',
    command: process.execPath,
    args: [LAUNCHER, 'up', '--local-receivers', '--replicas', EVERY_SERVICE_TWICE],
    cwd: ROOT,
    env: { ...process.env, ...env, FLEET_ENDS_WITH_PARENT: '1' },
    logFile,
  });
  const readStatus = async () => {
    const { failed, stdout } = await run(process.execPath, [LAUNCHER, 'status', '--json'], { env, reject: false });
    return failed ? null : stdout;
  };
  const stop = () => stopProcess(fleet.record, 60_000);
  const status = await poll(async () => fleet.ending ?? (await readStatus()), { timeoutMs: 180_000, everyMs: 250 });
  if (status === null || fleet.ending !== null) {
    await stop();
    throw new FleetError(`The fleet for the end-to-end specs did not start:\n${tailOf(logFile, 40)}`);
  }
  fs.writeFileSync(env.FLEET_STATUS, status, { mode: 0o600 });
  return { env, stop };
}
