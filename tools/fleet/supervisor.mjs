import { EventEmitter } from 'node:events';
import { Failure } from '../failure.mjs';
import { allOrFirstError } from '../processes/wait.mjs';
import { Instance } from './instance.mjs';
import { SERVICES } from './services.mjs';

/** All instances of all services. Emits `change` when one changes its state, `news` with a line for the person watching. */
export class Supervisor extends EventEmitter {
  /** @type {Instance[]} */
  instances = [];

  /**
   * @param {{ keeper: object, replicas: Record<string, number>, ports: Record<string, number>,
   *   environmentOf: (service: string) => object }} options  `ports` are those of the last run, by instance name
   */
  constructor({ keeper, replicas, ports, environmentOf }) {
    super();
    for (const { name: service, port } of SERVICES) {
      for (let number = 1; number <= (replicas[service] ?? 1); number++) {
        const name = number === 1 ? service : `${service}-${number}`;
        const wishedPort = ports[name] ?? (number === 1 ? port : undefined);
        this.#add(new Instance({ service, name, wishedPort, keeper, environment: () => environmentOf(service) }));
      }
    }
  }

  async choosePorts() {
    for (const instance of this.instances) await instance.choosePort();
  }

  of(service) {
    return this.instances.filter((instance) => instance.service === service);
  }

  portOf(service) {
    return this.of(service)[0].port;
  }

  /** Ports by instance name, to be wished for again. */
  get ports() {
    return Object.fromEntries(this.instances.map(({ name, port }) => [name, port]));
  }

  start() {
    return allOrFirstError(this.instances.map((instance) => instance.start()));
  }

  stop() {
    return Promise.all(this.instances.map((instance) => instance.stop()));
  }

  /** One instance after the other, so that replicas keep answering. */
  async restart(service) {
    const instances = this.of(service);
    if (!instances.length) throw new Failure(`There is no service "${service}".`);
    for (const instance of instances) {
      await instance.stop();
      await instance.start();
    }
  }

  describe() {
    return SERVICES.map(({ name }) => {
      const instances = this.of(name).map((instance) => instance.describe());
      return { name, ...instances[0], state: worst(instances), instances };
    });
  }

  #add(instance) {
    instance.on('change', () => this.emit('change', instance));
    instance.on('crash', (how) => this.emit('news', `${instance.name} ended unexpectedly (${how}); starting it again`));
    instance.on('trouble', (why) => this.emit('news', why));
    this.instances.push(instance);
  }
}

const worst = (instances) => instances.find(({ state }) => state !== 'ready')?.state ?? 'ready';
