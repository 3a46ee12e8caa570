import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { assertDevice, type AgentCaller, type AgentRecord, type AgentSource, type Caller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { TenantDatabase, WorkerDatabase } from '@rmm/persistence';
import { mintAgentToken } from '@rmm/secrets';
import { AgentsRepository } from '../../agents/agents.repository.js';
import { DeviceDecommissioned } from '../device.errors.js';
import { agentsChanged } from '../device.events.js';
import { AgentTokenRotationsRepository } from './agent-token-rotations.repository.js';
import { AgentTokenNotActive } from './agent-token.errors.js';
import type { TokenRotationDto } from './dto/token-rotation.dto.js';

/** The present token stays valid for so long when the agent does not use the next one. */
const VALID_HOURS = 24;
/** An agent whose response was lost gets another token with its next heartbeat, not with one that runs in parallel. */
const REPEAT_SECONDS = 30;

/** The command that replaces the token of an agent, in the response of a heartbeat. */
export interface RotateTokenCommand {
  id: string;
  type: 'rotate_token';
  payload: { authToken: string };
}

/** Replaces the tokens of agents without an interruption. @see docs/reference/provisioning.md#devices */
@Injectable()
export class AgentTokenRotationService implements AgentSource {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly worker: WorkerDatabase,
    private readonly agents: AgentsRepository,
    private readonly rotations: AgentTokenRotationsRepository,
    private readonly outbox: Outbox,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Has the agent get a new token with its next heartbeat. A request during a rotation changes nothing.
   * @throws NotFoundError, DeviceDecommissioned, AgentTokenNotActive; SiteAccessDenied  for a restricted caller
   */
  request(caller: Caller, deviceId: string): Promise<TokenRotationDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const device = await this.rotations.lockDevice(tx, caller, deviceId);
      assertDevice(caller, device);
      if (device.isDecommissioned) throw new DeviceDecommissioned();
      if (!device.hasToken || device.isExpired) throw new AgentTokenNotActive();
      if (device.expiresAt !== null) return { success: true, expiresAt: device.expiresAt.toISOString() };
      const { orgId, partnerId, hostname } = device;
      const expiresAt = await this.rotations.start(tx, device, VALID_HOURS);
      const resource = { type: 'device', id: deviceId, name: hostname, orgId, partnerId };
      await this.audit.record(tx, caller, 'device.agent_token.rotate', resource);
      await this.outbox.publish(tx, agentsChanged({ deviceIds: [deviceId] }, device));
      return { success: true, expiresAt: expiresAt.toISOString() };
    });
  }

  /** Returns the command with a new token while a rotation of the agent runs. The token is stored as SHA-256 only. */
  async listCommands(caller: AgentCaller): Promise<RotateTokenCommand[]> {
    if (caller.rotatesToken !== true) return [];
    const { key: authToken, keyHash: nextTokenHash } = mintAgentToken();
    const offered = { deviceId: caller.deviceId, nextTokenHash, repeatSeconds: REPEAT_SECONDS };
    const isOffered = await this.tenants.transaction(caller, (tx) => this.rotations.offer(tx, offered));
    return isOffered ? [{ id: randomUUID(), type: 'rotate_token', payload: { authToken } }] : [];
  }

  /** Returns the agent with a token. The first use of an offered token ends the former one on every replica. */
  async findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null> {
    const agent = await this.agents.findByTokenHash(tokenHash);
    if (agent !== null) return agent;
    if (await this.rotations.isOffered(tokenHash)) await this.promote(tokenHash);
    // Another request may have promoted it in the meantime.
    return this.agents.findByTokenHash(tokenHash);
  }

  private promote(tokenHash: Buffer): Promise<void> {
    return this.worker.transaction(async (tx) => {
      const device = await this.rotations.promote(tx, tokenHash);
      if (device) await this.outbox.publish(tx, agentsChanged({ deviceIds: [device.deviceId] }, device));
    });
  }
}
