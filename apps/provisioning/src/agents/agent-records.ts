import type { AgentRecord, AgentSource } from '@rmm/access';
import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';

/** Whose agent token is this? Asked before a tenant is known, so under the worker login. */
@Injectable()
export class AgentRecords implements AgentSource {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Null for an unknown token, a decommissioned device, and one whose organization was deleted. */
  async findByTokenHash(tokenHash: Buffer): Promise<AgentRecord | null> {
    const [record] = await this.worker.query<AgentRecord>(
      `select d.agent_id as "agentId", d.id as "deviceId", d.org_id as "orgId", d.partner_id as "partnerId",
              d.site_id as "siteId"
         from device d join organization o on o.id = d.org_id
        where d.agent_token_hash = $1 and d.status <> 'decommissioned' and o.deleted_at is null`,
      [tokenHash],
    );
    return record ?? null;
  }
}
