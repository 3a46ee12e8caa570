import { Injectable } from '@nestjs/common';
import type { AgentChanged } from '@rmm/contracts';
import { Clock } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import type { AgentRecord } from '../access.tokens.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';

/** An agent sends a heartbeat every minute; this time covers a burst of its reports, and bounds a lost broadcast. */
export const AGENT_RECORD_TTL_MS = 15_000;
const MAX_RECORDS = 50_000;

/** Caches the records of agents by the hash of their token for a short time; unknown tokens are not cached. */
@Injectable()
export class AgentRecords {
  private readonly cache: ReadThroughCache<AgentRecord>;

  constructor(
    private readonly sources: AccessSources,
    clock: Clock,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_RECORDS, ttlMs: AGENT_RECORD_TTL_MS, clock }, tagsOf);
  }

  /** @returns null when no active agent has this token */
  find(tokenHash: Buffer): Promise<AgentRecord | null> {
    const { agents } = this.sources;
    if (!agents) throw new Error('No AGENT_SOURCE is provided');
    return this.cache.get(tokenHash.toString('base64'), () => agents.findByTokenHash(tokenHash));
  }

  /** Drops the agents whose token, site or state changed. */
  onAgentsChanged({ deviceIds, orgIds = [] }: AgentChanged): void {
    this.cache.invalidate([...deviceIds.map(deviceTag), ...orgIds.map(organizationTag)]);
  }

  flush(): void {
    this.cache.flush();
  }
}

const deviceTag = (id: string): string => `device:${id}`;
const organizationTag = (id: string): string => `org:${id}`;

function tagsOf(agent: AgentRecord | null): string[] {
  return agent === null ? [] : [deviceTag(agent.deviceId), organizationTag(agent.orgId)];
}
