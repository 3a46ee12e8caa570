import { Injectable } from '@nestjs/common';
import { AGENT_TOKEN_PREFIX, hashKey } from '@rmm/secrets';
import { AccessSources } from '../access-sources.service.js';
import { InvalidAccessToken } from '../access.errors.js';
import type { AgentRecord } from '../access.tokens.js';
import { type AccessRequest, bearerToken } from '../callers/access-request.js';
import type { AgentCaller } from '../callers/caller.js';

const TOKEN_FORMAT = /^agt_[A-Za-z0-9_-]{43}$/;

/** Authenticates the agent program on a device by its bearer token. */
@Injectable()
export class AgentAuthenticator {
  constructor(private readonly sources: AccessSources) {}

  /** @throws InvalidAccessToken  401 for an absent, unknown or revoked token */
  async authenticate(request: AccessRequest): Promise<AgentCaller> {
    const token = bearerToken(request);
    if (token === null || !token.startsWith(AGENT_TOKEN_PREFIX) || !TOKEN_FORMAT.test(token)) {
      throw new InvalidAccessToken();
    }
    if (!this.sources.agents) throw new Error('No AGENT_SOURCE is provided');
    const record = await this.sources.agents.findByTokenHash(hashKey(token));
    if (record === null) throw new InvalidAccessToken();
    return (request.caller = toAgentCaller(record));
  }
}

function toAgentCaller({ agentId, deviceId, orgId, partnerId, siteId }: AgentRecord): AgentCaller {
  return {
    kind: 'agent',
    actor: { type: 'agent', id: agentId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: [], userId: null },
    agentId,
    deviceId,
    orgId,
    partnerId,
    siteId,
  };
}
