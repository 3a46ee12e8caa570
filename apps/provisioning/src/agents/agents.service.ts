import { Inject, Injectable } from '@nestjs/common';
import type { AgentCaller } from '@rmm/access';
import { Outbox, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { NotFoundError } from '@rmm/service-kit';
import { AgentCommandsService } from '../agent-commands/agent-commands.service.js';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { AgentTokenRotationService } from '../devices/token-rotation/agent-token-rotation.service.js';
import { LIMITS } from '../limits.js';
import { AGENT_CONFIG } from './agent.config.js';
import { AgentsRepository, type ReportedHeartbeat, type StoredHeartbeat } from './agents.repository.js';
import type { HeartbeatResponseDto } from './dto/heartbeat-response.dto.js';
import type { HeartbeatDto } from './dto/heartbeat.dto.js';
import { HeartbeatWriter } from './heartbeat-writer.service.js';

/** Stores the reports of agents and publishes the changes of their devices. */
@Injectable()
export class AgentsService {
  private readonly offlineAfterSeconds: number;

  constructor(
    @Inject(PROVISIONING_CONFIG) config: ProvisioningConfig,
    private readonly tenants: TenantDatabase,
    private readonly agents: AgentsRepository,
    private readonly writer: HeartbeatWriter,
    private readonly outbox: Outbox,
    private readonly limits: RateLimits,
    private readonly tokens: AgentTokenRotationService,
    private readonly commands: AgentCommandsService,
  ) {
    this.offlineAfterSeconds = config.deviceOfflineAfterSeconds;
  }

  /** @throws NotFoundError  for the id of another agent */
  async storeHeartbeat(caller: AgentCaller, agentId: string, dto: HeartbeatDto): Promise<HeartbeatResponseDto> {
    if (agentId !== caller.agentId) throw new NotFoundError('Agent');
    await this.limits.hit(LIMITS.agentHeartbeat, agentId);
    const { agentVersion = null, osVersion = null } = dto;
    const heartbeat = { agentVersion, osVersion, metrics: metricsOf(dto) };
    const { deviceId, orgId } = caller;
    const stored =
      (await this.writer.storeUnchanged({ deviceId, orgId, ...heartbeat })) ??
      (await this.storeChanged(caller, heartbeat));
    const waiting = stored.hasCommands ? await this.commands.takeWaiting(caller) : [];
    const commands = [...(await this.tokens.listCommands(caller)), ...waiting];
    return { success: true, config: AGENT_CONFIG, commands };
  }

  private storeChanged(caller: AgentCaller, heartbeat: ReportedHeartbeat): Promise<StoredHeartbeat> {
    return this.tenants.transaction(caller, async (tx) => {
      const stored = await this.agents.storeChanged(tx, caller.deviceId, heartbeat, this.offlineAfterSeconds);
      await this.outbox.publish(tx, eventsOf(caller, stored));
      return stored;
    });
  }
}

function metricsOf({ metrics, uptimeSeconds }: HeartbeatDto): string | null {
  if (!metrics && uptimeSeconds == null) return null;
  return JSON.stringify({ ...metrics, ...(uptimeSeconds == null ? {} : { uptimeSeconds }) });
}

function eventsOf(caller: AgentCaller, stored: StoredHeartbeat): OutgoingMessage[] {
  const { deviceId, orgId, partnerId, actor } = caller;
  const { hostname, agentVersion, version } = stored;
  const event = {
    stream: 'events' as const,
    aggregateId: deviceId,
    aggregateVersion: Number(version),
    partnerId,
    orgId,
    actor,
  };
  const events: OutgoingMessage[] = [];
  if (stored.cameOnline) {
    events.push({ ...event, type: 'device.online', data: { deviceId, hostname, agentVersion, status: 'online' } });
  }
  if (stored.hasNewAgentVersion) {
    const data = { deviceId, hostname, fields: ['agentVersion' as const], agentVersion };
    events.push({ ...event, type: 'device.updated', data });
  }
  return events;
}
