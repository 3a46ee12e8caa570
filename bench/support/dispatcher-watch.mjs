// Watches the dispatchers of a benchmark: the memory they use at most, and how often NATS disconnects one of them.
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from './process-stats.mjs';

const EVERY_MS = 250;
const MEGABYTE = 1_048_576;
const HEAP = /^nodejs_heap_size_used_bytes(?:\{[^}]*\})? (\S+)$/m;
/** Reasons of connections that the client has closed, or that ended with its process. */
const BY_CLIENT = /^(Client Closed|Read Error)/;

export class DispatcherWatch {
  heapMb = 0;
  rssMb = 0;
  isStopped = false;

  /** @param dispatcher  a `DispatcherApp` */
  constructor(dispatcher) {
    this.dispatcher = dispatcher;
    this.running = this.run();
  }

  /** @returns the largest figures of one dispatcher, and the disconnects of all */
  async stop() {
    this.isStopped = true;
    await this.running;
    return { heapMb: this.heapMb, rssMb: this.rssMb, cuts: await this.countCuts() };
  }

  async run() {
    for (; !this.isStopped; await sleep(EVERY_MS)) {
      const heaps = this.dispatcher.replicas.map(({ port }) => heapOf(port));
      this.rssMb = Math.max(this.rssMb, ...this.dispatcher.replicas.map(({ child }) => memoryOf(child.pid)));
      this.heapMb = Math.max(this.heapMb, ...(await Promise.all(heaps)));
    }
  }

  async countCuts() {
    const response = await fetch(`${this.dispatcher.nats.monitorUrl}/connz?state=closed&limit=1000`);
    const { connections } = await response.json();
    const ofService = connections.filter(({ name }) => name === 'webhook-dispatcher');
    return ofService.filter(({ reason }) => !BY_CLIENT.test(reason)).length;
  }
}

/** @returns the heap of a process in MB; 0 when it does not respond, as one that was killed */
async function heapOf(port) {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null);
  const [, bytes = 0] = HEAP.exec((await response?.text().catch(() => '')) ?? '') ?? [];
  return Number(bytes) / MEGABYTE;
}
