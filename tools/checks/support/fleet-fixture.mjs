import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serviceNames } from '../../fleet/services.mjs';
import { ROOT, TOOLS_DIR } from '../../paths.mjs';
import { startOf } from '../../processes/identity.mjs';
import { run } from '../../processes/run.mjs';

/** A fleet of dummy services in a folder of its own, driven by the real command. */
export class FleetFixture {
  constructor({ port }) {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-check-'));
    fs.chmodSync(this.dir, 0o755); // PostgreSQL may have to run as another user
    const dummy = path.join(import.meta.dirname, 'dummy-service.mjs');
    for (const name of serviceNames) {
      const main = path.join(this.dir, 'apps', name, 'dist/main.js');
      fs.mkdirSync(path.dirname(main), { recursive: true });
      fs.writeFileSync(path.join(this.dir, 'apps', name, 'package.json'), '{"type":"module"}');
      fs.writeFileSync(main, `import ${JSON.stringify(dummy)};\n`);
    }
    const { DATABASE_URL, REDIS_URL, NATS_URL, ...inherited } = process.env;
    this.env = {
      ...inherited,
      FLEET_APPS_DIR: path.join(this.dir, 'apps'),
      FLEET_DATA_DIR: path.join(this.dir, 'data'),
      FLEET_TOOLS_DIR: TOOLS_DIR,
      FLEET_PRIVATE: '1',
      FLEET_PORT: String(port),
    };
  }

  /** Runs `fleet <args>` to its end. */
  fleet(...args) {
    return run(process.execPath, [path.join(ROOT, 'tools/fleet.mjs'), ...args], { env: this.env, cwd: ROOT });
  }

  /** Starts `fleet up` in the foreground and leaves it running. */
  up(...args) {
    return spawn(process.execPath, [path.join(ROOT, 'tools/fleet.mjs'), 'up', ...args], {
      env: this.env,
      cwd: ROOT,
      stdio: 'ignore',
    });
  }

  async status() {
    return JSON.parse((await this.fleet('status', '--json')).stdout);
  }

  /** What the launcher wrote down about the processes it started: services, stores and itself. */
  processes() {
    const { launcher, records } = JSON.parse(fs.readFileSync(path.join(this.dir, 'data/dev/state.json'), 'utf8'));
    return launcher ? [{ name: 'launcher', ...launcher }, ...records] : records;
  }

  async remove() {
    await this.fleet('down');
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

export const stillAlive = (processes) =>
  processes.filter(({ pid, start }) => startOf(pid) === start).map(({ name }) => name);
