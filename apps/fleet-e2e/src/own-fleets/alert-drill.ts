import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOrganization, eventually, partnerWithMfa, type SignedIn } from '@rmm/testing';
import { OwnFleet } from './own-fleet.js';
import { Prometheus, PROMETHEUS } from './prometheus.js';

export const PATIENCE = { timeoutMs: 180_000, everyMs: 500 };

/** Like `describe`. Drills take more than ten minutes: without `ALERT_DRILLS=true` they are skipped, and their names say so. */
export function describeDrills(name: string, specs: () => void): void {
  if (process.env['ALERT_DRILLS'] !== 'true') describe.skip(`${name} (skipped: ALERT_DRILLS is not set)`, specs);
  else if (PROMETHEUS === undefined) describe.skip(`${name} (skipped: Prometheus is not installed)`, specs);
  else describe(name, specs);
}

interface ReceiverResponse {
  status?: number;
  headers?: Record<string, string>;
  /** Time in milliseconds before the response; `Infinity` for none. */
  afterMs?: number;
}

/** A fleet that a spec breaks on purpose, with a partner, and a Prometheus that reads it by the rules of `deploy/alerts.yml`. */
export class AlertDrill {
  private readonly servers: Server[] = [];

  private constructor(
    readonly fleet: OwnFleet,
    private readonly prometheus: Prometheus,
    readonly partner: SignedIn,
    /** An organization of the partner. */
    readonly orgId: string,
  ) {}

  /** @param options  of `./fleet up` @param periodDivisor  the number that the periods of the rules are divided by */
  static async start(options: readonly string[], periodDivisor: number): Promise<AlertDrill> {
    const variables = { RATE_LIMITS_ENABLED: 'true', GLOBAL_RATE_LIMIT_PER_MINUTE: '100000' };
    const fleet = await OwnFleet.start(options, variables);
    let prometheus: Prometheus | undefined;
    try {
      prometheus = await Prometheus.start(PROMETHEUS ?? '', fleet.handle, periodDivisor);
      const partner = await partnerWithMfa(fleet.handle);
      return new AlertDrill(fleet, prometheus, partner, (await createOrganization(partner.client)).orgId);
    } catch (error) {
      await prometheus?.stop();
      await fleet.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.closeReceivers();
    await this.prometheus.stop();
    await this.fleet.stop();
  }

  /** Waits until each of the alerts has fired since the call, while something goes on. */
  async expectAlerts(names: readonly string[], meanwhile: () => Promise<unknown> = () => sleep(200)): Promise<void> {
    const missing = new Set(names);
    const isOver = new AbortController();
    const going = (async () => {
      while (!isOver.signal.aborted) await meanwhile();
    })();
    try {
      await eventually(async () => {
        for (const name of await this.prometheus.firing()) missing.delete(name);
        expect([...missing]).toEqual([]);
      }, PATIENCE);
    } finally {
      isOver.abort();
      await going;
    }
  }

  /** Waits until the alerts have ended: what fires for one cause must not be taken for the next. */
  untilOver(...names: readonly string[]): Promise<void> {
    return eventually(
      async () => expect((await this.prometheus.firing()).filter((name) => names.includes(name))).toEqual([]),
      PATIENCE,
    );
  }

  /** Waits until no alert fires. */
  untilQuiet(): Promise<void> {
    return eventually(async () => expect(await this.prometheus.firing()).toEqual([]), PATIENCE);
  }

  /** Sends a signal to a replica of a service, or to all. */
  async signal(service: string, signal: NodeJS.Signals, replica?: number): Promise<void> {
    const { services } = await this.fleet.status();
    const instances = services.find(({ name }) => name === service)?.instances ?? [];
    const chosen = replica === undefined ? instances : instances.slice(replica, replica + 1);
    if (chosen.length === 0) throw new Error(`The fleet has no ${service}`);
    for (const { pid } of chosen) process.kill(pid, signal);
  }

  /** Continues every process that a failed drill has left suspended, and waits until the fleet is ready. */
  async resume(): Promise<void> {
    const { services, stores } = await this.fleet.status();
    const instances = services.flatMap((service) => service.instances);
    for (const { pid } of [...instances, ...stores]) continueProcess(pid);
    await this.untilOver('ServiceNotReady');
  }

  /** Starts a receiver. @returns its URL */
  async receive({ status = 200, headers = {}, afterMs = 0 }: ReceiverResponse = {}): Promise<string> {
    const server = createServer((request, response) => {
      const respond = () => response.writeHead(status, headers).end();
      request.resume().on('end', () => afterMs === Infinity || setTimeout(respond, afterMs).unref());
    });
    this.servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  }

  async closeReceivers(): Promise<void> {
    for (const server of this.servers) server.closeAllConnections();
    await Promise.all(this.servers.splice(0).map((server) => new Promise((closed) => server.close(closed))));
  }
}

function continueProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // it was killed and is started again
  }
}
