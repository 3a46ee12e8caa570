import type { AgentCaller } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { Outbox, type OutgoingMessage } from '@rmm/messaging';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError, RateLimits, type RateLimit } from '@rmm/service-kit';
import type { HeartbeatDto } from './dto/heartbeat.dto.js';

interface Beat {
  hostname: string;
  agentVersion: string | null;
  version: string;
  cameOnline: boolean;
  newAgentVersion: boolean;
}

const HEARTBEAT: RateLimit = { name: 'agent-heartbeat', limit: 120, windowSeconds: 60, onRedisDown: 'allow' };

/** A device in maintenance or updating keeps that status; the version rises only when somebody is told. */
const BEAT = `
  with was as (
    select id, status in ('offline', 'pending') as comes_online,
           agent_version is not null and $2::text is not null and agent_version <> $2 as new_version
      from device where id = $1 and status <> 'decommissioned' for update)
  update device d set
    last_seen_at = now(), agent_version = coalesce($2, agent_version), os_version = coalesce($3, os_version),
    metrics = coalesce($4::jsonb, metrics), status = case when was.comes_online then 'online' else status end,
    version = version + was.comes_online::int + was.new_version::int
  from was where d.id = was.id
  returning d.hostname, d.agent_version as "agentVersion", d.version, was.comes_online as "cameOnline",
            was.new_version as "newAgentVersion"`;

/** What agents report of themselves. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly tenants: TenantDatabase,
    private readonly outbox: Outbox,
    private readonly limits: RateLimits,
  ) {}

  /** @throws NotFoundError  for another agent's id */
  async heartbeat(caller: AgentCaller, agentId: string, dto: HeartbeatDto): Promise<void> {
    if (agentId !== caller.agentId) throw new NotFoundError('Agent');
    await this.limits.hit(HEARTBEAT, agentId);
    await this.tenants.transaction(caller, async (tx) => {
      const beat = await this.beat(tx, caller, dto);
      await this.outbox.publish(tx, eventsOf(caller, beat));
    });
  }

  private async beat(tx: TenantTransaction, { deviceId }: AgentCaller, dto: HeartbeatDto): Promise<Beat> {
    const { agentVersion = null, osVersion = null } = dto;
    const [beat] = await tx.query<Beat>(BEAT, [deviceId, agentVersion, osVersion, metricsOf(dto)]);
    if (!beat) throw new NotFoundError('Agent');
    return beat;
  }
}

function metricsOf({ metrics, uptimeSeconds }: HeartbeatDto): string | null {
  if (!metrics && uptimeSeconds == null) return null;
  return JSON.stringify({ ...metrics, ...(uptimeSeconds == null ? {} : { uptimeSeconds }) });
}

function eventsOf(caller: AgentCaller, beat: Beat): OutgoingMessage[] {
  const { deviceId, orgId, partnerId, actor } = caller;
  const { hostname, agentVersion } = beat;
  const about = {
    stream: 'events' as const,
    aggregateId: deviceId,
    aggregateVersion: Number(beat.version),
    partnerId,
    orgId,
    actor,
  };
  const events: OutgoingMessage[] = [];
  if (beat.cameOnline) {
    events.push({ ...about, type: 'device.online', data: { deviceId, hostname, agentVersion, status: 'online' } });
  }
  if (beat.newAgentVersion) {
    events.push({
      ...about,
      type: 'device.updated',
      data: { deviceId, hostname, fields: ['agentVersion'], agentVersion },
    });
  }
  return events;
}
