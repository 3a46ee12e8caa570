import { Injectable } from '@nestjs/common';
import { clientBucket } from '@rmm/rate-limits';
import { hashKey } from '@rmm/secrets';
import { InvalidAccessToken } from '../access.errors.js';
import type { AgentRecord } from '../access.tokens.js';
import { type AccessRequest, bearerToken, clientAddress } from '../callers/access-request.js';
import type { AgentCaller } from '../callers/caller.js';
import { FailedAuthenticationThrottle } from '../keys/failed-authentication-throttle.service.js';
import { AgentRecords } from './agent-records.service.js';

const TOKEN_FORMAT = /^agt_[A-Za-z0-9_-]{43}$/;

/** Authenticates the agent program on a device by its bearer token: failed attempts of the address, then the token. */
@Injectable()
export class AgentAuthenticator {
  constructor(
    private readonly records: AgentRecords,
    private readonly throttle: FailedAuthenticationThrottle,
  ) {}

  /**
   * @throws InvalidAccessToken  401 for an absent, unknown or revoked token
   * @throws KeyRateLimited  429 when the address has had too many of them
   */
  async authenticate(request: AccessRequest): Promise<AgentCaller> {
    const bucket = clientBucket({ address: clientAddress(request), headers: request.headers });
    this.throttle.assertNotBlocked('agent_token', bucket);
    const token = bearerToken(request);
    const record = token !== null && TOKEN_FORMAT.test(token) ? await this.find(bucket, hashKey(token)) : null;
    if (record !== null) return (request.caller = toAgentCaller(record));
    await this.throttle.recordFailure('agent_token', bucket);
    throw new InvalidAccessToken();
  }

  private find(bucket: string, tokenHash: Buffer): Promise<AgentRecord | null> {
    return this.throttle.limitLookUps('agent_token', bucket, () => this.records.find(tokenHash));
  }
}

function toAgentCaller({ agentId, deviceId, orgId, partnerId, siteId, rotatesToken }: AgentRecord): AgentCaller {
  return {
    kind: 'agent',
    actor: { type: 'agent', id: agentId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: [], userId: null },
    agentId,
    deviceId,
    orgId,
    partnerId,
    siteId,
    rotatesToken,
  };
}
