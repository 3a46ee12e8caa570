import { EventEmitter } from 'node:events';
import { Failure } from '../failure.mjs';
import { freePort } from '../processes/ports.mjs';
import { tailOf } from '../processes/keeper.mjs';
import { stop } from '../processes/stop.mjs';
import { sleep } from '../processes/wait.mjs';
import { isReady } from './health.mjs';
import { logFileOf } from './layout.mjs';
import { mainOf, nodeFlagsOf } from './services.mjs';

const READY_TIMEOUT_MS = 90_000;
const STOP_GRACE_MS = 25_000;
const RESTART_DELAYS_MS = [500, 1_000, 2_000, 5_000, 15_000];
const CALM_AFTER_MS = 60_000;

/**
 * One process of a service, from its start to its end. It is started again when it ends without being asked to.
 * `state` is `starting`, `ready`, `crashed`, `stopping` or `stopped`; every change emits `change`.
 */
export class Instance extends EventEmitter {
  state = 'stopped';
  process = null;
  #wanted = false;
  #crashes = 0;

  /** @param {{ service: string, name: string, wishedPort?: number, keeper: object, environment: () => object }} options */
  constructor({ service, name, wishedPort, keeper, environment }) {
    super();
    Object.assign(this, { service, name, wishedPort, keeper, environment });
    this.logFile = logFileOf(name);
  }

  /** The port must be known before any service starts: their environment names each other's addresses. */
  async choosePort() {
    this.port = await freePort(this.wishedPort);
  }

  /**
   * Starts it and waits until it answers as ready.
   * @throws {Failure} with the end of its log when it ends before that, or takes too long
   */
  async start() {
    this.#wanted = true;
    const process = this.#spawn();
    const deadline = Date.now() + READY_TIMEOUT_MS;
    while (!(await isReady(this.port))) {
      if (!this.#wanted) return;
      if (process.ended()) throw this.#failure(`ended at its start (${process.ended()})`);
      if (Date.now() > deadline) throw this.#failure(`was not ready after ${READY_TIMEOUT_MS / 1000} s`);
      await sleep(50);
    }
    if (this.process === process) this.#become('ready');
  }

  async stop() {
    this.#wanted = false;
    if (this.state !== 'stopped') this.#become('stopping');
    if (this.process) await stop(this.process.record, STOP_GRACE_MS);
    this.#become('stopped');
  }

  describe() {
    return { state: this.state, pid: this.process?.record.pid ?? null, port: this.port };
  }

  #spawn() {
    const started = this.keeper.start({
      name: this.name,
      command: process.execPath,
      args: [...nodeFlagsOf(this.service), mainOf(this.service)],
      env: { ...this.environment(), PORT: String(this.port) },
      logFile: this.logFile,
      append: true,
    });
    this.process = started;
    this.#become('starting');
    const startedAt = Date.now();
    started.child.once('exit', () => {
      if (Date.now() - startedAt > CALM_AFTER_MS) this.#crashes = 0;
      if (this.process === started && this.#wanted) this.#afterCrash(started);
    });
    return started;
  }

  /** A start that fails is reported by `start`; a ready service that ends is started again, ever more slowly. */
  async #afterCrash(ended) {
    if (this.state === 'starting' && this.#crashes === 0) {
      this.#become('crashed');
      return;
    }
    this.#become('crashed');
    this.emit('crash', ended.ended());
    await sleep(RESTART_DELAYS_MS[Math.min(this.#crashes++, RESTART_DELAYS_MS.length - 1)]);
    if (this.#wanted && this.process === ended)
      await this.start().catch((error) => this.emit('trouble', error.message));
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.emit('change', this);
  }

  #failure(what) {
    return new Failure(`${this.name} ${what}; the end of ${this.logFile}:\n${tailOf(this.logFile)}`);
  }
}
