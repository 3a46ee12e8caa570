import { Injectable } from '@nestjs/common';
import type { AgentCaller } from '@rmm/access';
import { Outbox, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase } from '@rmm/persistence';
import { NotFoundError, RateLimits } from '@rmm/service-kit';
import { LIMITS } from '../limits.js';
import { AGENT_CONFIG } from './agent.config.js';
import { AgentsRepository, type StoredHeartbeat } from './agents.repository.js';
import type { HeartbeatResponseDto } from './dto/heartbeat-response.dto.js';
import type { HeartbeatDto } from './dto/heartbeat.dto.js';

/** Stores the reports of agents and publishes the changes of their devices. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly agents: AgentsRepository,
    private readonly outbox: Outbox,
    private readonly limits: RateLimits,
  ) {}

  /** @throws NotFoundError  for the id of another agent */
  async storeHeartbeat(caller: AgentCaller, agentId: string, dto: HeartbeatDto): Promise<HeartbeatResponseDto> {
    if (agentId !== caller.agentId) throw new NotFoundError('Agent');
    await this.limits.hit(LIMITS.agentHeartbeat, agentId);
    const { agentVersion = null, osVersion = null } = dto;
    await this.tenants.transaction(caller, async (tx) => {
      const heartbeat = { agentVersion, osVersion, metrics: metricsOf(dto) };
      const stored = await this.agents.storeHeartbeat(tx, caller.deviceId, heartbeat);
      await this.outbox.publish(tx, eventsOf(caller, stored));
    });
    return { success: true, config: AGENT_CONFIG, commands: [] };
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
