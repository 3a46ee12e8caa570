import { AGENT_TOKEN_PREFIX, hashKey } from '@rmm/secrets';
import { InvalidAccessToken } from '../access.errors.js';
import type { AgentRecord, AgentSource } from '../access.tokens.js';
import { type AccessRequest, bearerToken } from '../callers/access-request.js';
import type { AgentCaller } from '../callers/caller.js';

const TOKEN_FORM = /^agt_[A-Za-z0-9_-]{43}$/;

/** The program on a device, by its bearer token. @see CONTRACT.md 4.10.8 */
export class AgentAuthenticator {
  constructor(private readonly source: () => AgentSource) {}

  /** @throws InvalidAccessToken  401 for an absent, unknown or retired token */
  async enter(request: AccessRequest): Promise<AgentCaller> {
    const token = bearerToken(request);
    if (token === null || !token.startsWith(AGENT_TOKEN_PREFIX) || !TOKEN_FORM.test(token))
      throw new InvalidAccessToken();
    const record = await this.source().findByTokenHash(hashKey(token));
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
