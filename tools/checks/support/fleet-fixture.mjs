import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { SERVICE_NAMES } from '../../dist/fleet/services.js';
import { ROOT, TOOLS_DIR } from '../../dist/paths.js';
import { startTimeOf } from '../../dist/processes/process-record.js';

const LAUNCHER = path.join(ROOT, 'tools/fleet.mjs');

/** A fleet of dummy services in a folder of its own, driven by the real command. */
export class FleetFixture {
  constructor({ port }) {
    // Only root may enter the folder: PostgreSQL, which runs as another user then, must start all the same.
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fleet-check-'));
    const dummy = path.join(import.meta.dirname, 'dummy-service.mjs');
    for (const name of SERVICE_NAMES) {
      const main = path.join(this.dir, 'apps', name, 'dist/main.js');
      fs.mkdirSync(path.dirname(main), { recursive: true });
      fs.writeFileSync(path.join(this.dir, 'apps', name, 'package.json'), '{"type":"module"}');
      fs.writeFileSync(main, `import ${JSON.stringify(dummy)};\n`);
    }
    this.preferOwnPorts(port + 1);
    const { DATABASE_URL, REDIS_URL, NATS_URL, ...inherited } = process.env;
    this.env = {
      ...inherited,
      FLEET_APPS_DIR: path.join(this.dir, 'apps'),
      FLEET_DATA_DIR: path.join(this.dir, 'data'),
      FLEET_TOOLS_DIR: TOOLS_DIR,
      FLEET_PORT: String(port),
    };
  }

  /** Sets the ports of the first start: a fleet of another check must not take one while its service restarts. */
  preferOwnPorts(first) {
    const ports = Object.fromEntries(SERVICE_NAMES.map((name, i) => [name, first + i]));
    const dir = path.join(this.dir, 'data/dev');
    fs.mkdirSync(dir, { recursive: true });
    const state = { phase: 'stopped', records: [], ports, externalStores: [], services: [] };
    fs.writeFileSync(path.join(dir, 'state.json'), JSON.stringify(state));
  }

  /** Runs `./fleet <args>` to its end. */
  fleet(...args) {
    return new Promise((resolve) => {
      const child = spawn(process.execPath, [LAUNCHER, ...args], {
        env: this.env,
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => (output[name] += text));
      child.once('close', (status) => resolve({ status, ...output }));
    });
  }

  /** Starts `./fleet up` in the foreground. */
  up(...args) {
    return spawn(process.execPath, [LAUNCHER, 'up', ...args], { env: this.env, cwd: ROOT, stdio: 'ignore' });
  }

  async status() {
    return JSON.parse((await this.fleet('status', '--json')).stdout);
  }

  /** Returns the processes the launcher started, and itself, as it wrote them down. */
  processes() {
    const { launcher, records } = JSON.parse(fs.readFileSync(path.join(this.dir, 'data/dev/state.json'), 'utf8'));
    return launcher ? [{ name: 'launcher', ...launcher }, ...records] : records;
  }

  async remove() {
    await this.fleet('down');
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

export const namesOfRunning = (processes) =>
  processes.filter(({ pid, start }) => startTimeOf(pid) === start).map(({ name }) => name);

/** Returns the command lines that contain a text. */
export const commandsWith = (text) =>
  spawnSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((line) => line.includes(text));
