import { createDevice, inventoryOf, metricsOf, postureOf, type SimulatedDevice } from './device-reports.js';

/** The credentials that an agent stores after its enrollment. */
export interface AgentIdentity {
  agentId: string;
  authToken: string;
}

export interface AgentCommand {
  id: string;
  type: string;
}

/** The response to a request other than the expected ones. */
export class RequestRefused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(`${status} ${code}`);
  }
}

export interface AgentOptions {
  /** With the path of the API: `http://127.0.0.1:8080/api/v1`. */
  apiUrl: string;
  /** Keeps the names of several simulations apart. */
  series: string;
  number: number;
  identity?: AgentIdentity;
}

/** One agent. It reports and executes nothing: commands are returned and forgotten. */
export class SimulatedAgent {
  readonly device: SimulatedDevice;
  private identity: AgentIdentity | null;
  private readonly startedMs = performance.now();

  constructor(private readonly options: AgentOptions) {
    this.device = createDevice(options.series, options.number);
    this.identity = options.identity ?? null;
  }

  /** @throws RequestRefused, TypeError  when the fleet cannot be reached */
  async enroll(enrollmentKey: string, enrollmentSecret?: string): Promise<void> {
    const body = { enrollmentKey, enrollmentSecret, ...this.device };
    const { agentId, authToken } = await this.send<AgentIdentity>('POST', '/agents/enroll', body);
    this.identity = { agentId, authToken };
  }

  /** Sends inventory and posture. @returns the reports that the fleet does not take */
  async sendReports(): Promise<string[]> {
    const { device, options } = this;
    const reports = {
      ...inventoryOf(device, options.number),
      'management/posture': postureOf(device, options.number, new Date()),
    };
    const missing: string[] = [];
    for (const [name, body] of Object.entries(reports)) {
      try {
        await this.send('PUT', `/agents/${this.agentId}/${name}`, body);
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.status !== 404) throw error;
        missing.push(name); // an older fleet
      }
    }
    return missing;
  }

  /** @returns the commands for the agent */
  async sendHeartbeat(): Promise<AgentCommand[]> {
    const uptimeSeconds = Math.round((performance.now() - this.startedMs) / 1_000);
    const { agentVersion, osVersion } = this.device;
    const metrics = metricsOf(this.options.number, uptimeSeconds);
    const body = { agentVersion, osVersion, uptimeSeconds, metrics };
    const response = await this.send<{ commands: AgentCommand[] }>('POST', `/agents/${this.agentId}/heartbeat`, body);
    return response.commands;
  }

  private get agentId(): string {
    if (!this.identity) throw new Error('The agent is not enrolled');
    return this.identity.agentId;
  }

  private async send<T>(method: string, path: string, body: object): Promise<T> {
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      // An address of the range for tests, for each agent: enrollments are limited per address.
      'x-forwarded-for': `198.18.${(this.options.number >> 8) & 255}.${this.options.number & 255}`,
    };
    if (this.identity) headers['authorization'] = `Bearer ${this.identity.authToken}`;
    const response = await fetch(this.options.apiUrl + path, { method, headers, body: JSON.stringify(body) });
    const result = (await response.json().catch(() => ({}))) as T & { code?: string };
    if (!response.ok) throw new RequestRefused(response.status, result.code ?? 'unknown');
    return result;
  }
}
