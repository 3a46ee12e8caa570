import { isReady } from '../fleet/health.mjs';

const LOOK_EVERY_MS = 1_000;
const EJECT_MS = 2_000;

/**
 * Chooses which instance of a service gets the next request: those that are ready take turns. When none is, the ones
 * that run still get requests, because a service whose dependency is down gives a better answer than the edge could.
 */
export class Balancer {
  #turn = new Map();
  #ejectedUntil = new Map();
  #ready = new Map();
  #timer;

  /** @param {{ instances: { service: string, name: string, port: number, state: string }[] }} supervisor */
  constructor(supervisor) {
    this.supervisor = supervisor;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  /** The instances to try for one request, best first. */
  candidates(service) {
    const running = this.supervisor.instances.filter(
      (instance) => instance.service === service && ['ready', 'starting'].includes(instance.state),
    );
    const turn = (this.#turn.get(service) ?? 0) + 1;
    this.#turn.set(service, turn);
    const inTurn = running.map((_, i) => running[(i + turn) % running.length]);
    return [
      ...inTurn.filter((instance) => this.#isGood(instance)),
      ...inTurn.filter((instance) => !this.#isGood(instance)),
    ];
  }

  /** A connection failed: others first, for a while. */
  eject(instance) {
    this.#ejectedUntil.set(instance.name, Date.now() + EJECT_MS);
  }

  close() {
    clearInterval(this.#timer);
  }

  #isGood({ name, state }) {
    return state === 'ready' && this.#ready.get(name) !== false && Date.now() >= (this.#ejectedUntil.get(name) ?? 0);
  }

  async #look() {
    const replicated = this.supervisor.instances.filter(({ service }) => this.#hasOthers(service));
    await Promise.all(replicated.map(async ({ name, port }) => this.#ready.set(name, await isReady(port))));
  }

  /** With one instance there is no choice to make, so nobody is asked. */
  #hasOthers(service) {
    return this.supervisor.instances.filter((instance) => instance.service === service).length > 1;
  }
}
