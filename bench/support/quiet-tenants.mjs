// Measures how long the events of quiet tenants take to their receivers while other tenants cause load.
import { setTimeout as sleep } from 'node:timers/promises';

export const QUIET_TENANTS = 99;
const PER_TENANT = 2; // a second
const LATE_MS = 15_000;
const NONE = { received: 0, distinct: 0, bad: 0, p50Ms: Infinity, p95Ms: Infinity, p99Ms: Infinity, maxMs: Infinity };

export class QuietTenants {
  /** @param options  number of tenants, events of each per second, and what the receiver does: `ok` or `once` */
  static async open(dispatcher, receiver, { count = QUIET_TENANTS, perTenant = PER_TENANT, behavior = 'ok' } = {}) {
    const quiet = new QuietTenants();
    const url = (n) => `http://127.0.0.1:${receiver.ports[n % receiver.ports.length]}/${behavior}/quiet`;
    const tenants = await dispatcher.addOrganizations(count, (n) => [url(n)]);
    return Object.assign(quiet, { dispatcher, receiver, tenants, perSecond: count * perTenant });
  }

  /** @returns times from publish to receipt of the events of these seconds */
  async measure(seconds) {
    return this.measureDuring(() => sleep(seconds * 1_000));
  }

  /** The events that are published while something else is done; those that do not arrive in time count as endless. */
  async measureDuring(work) {
    await this.receiver.ask('taken');
    const pace = this.dispatcher.pace(this.tenants, this.perSecond);
    try {
      await work();
    } finally {
      this.published = await pace.stop();
    }
    const arrived = await this.untilReceived(this.published);
    const { quiet = NONE } = (await this.receiver.ask('taken')).groups;
    const missing = this.published - arrived;
    return {
      ...quiet,
      published: this.published,
      missing,
      p99Ms: missing > this.published / 100 ? Infinity : quiet.p99Ms,
    };
  }

  async untilReceived(count) {
    for (const startedAt = performance.now(); ; await sleep(50)) {
      const { quiet: received = 0 } = await this.receiver.ask('received');
      if (received >= count || performance.now() - startedAt > LATE_MS) return received;
    }
  }
}
