import { Injectable } from '@nestjs/common';
import { clientBucket } from '@rmm/rate-limits';
import { hashKey, SCIM_TOKEN_PREFIX } from '@rmm/secrets';
import { AccessSources } from '../access-sources.service.js';
import { InvalidAccessToken, TenantInactive } from '../access.errors.js';
import type { ScimTokenRecord } from '../access.tokens.js';
import { type AccessRequest, bearerToken, clientAddress } from '../callers/access-request.js';
import type { ScimCaller } from '../callers/caller.js';
import { FailedAuthenticationThrottle } from '../keys/failed-authentication-throttle.service.js';

const TOKEN_FORMAT = new RegExp(`^${SCIM_TOKEN_PREFIX}[A-Za-z0-9_-]{43}$`);

/**
 * Authenticates a SCIM client by its bearer token: failed attempts of the address, then the token. Tokens are not cached,
 * so that a revoked one ends at once on every replica.
 */
@Injectable()
export class ScimAuthenticator {
  constructor(
    private readonly sources: AccessSources,
    private readonly throttle: FailedAuthenticationThrottle,
  ) {}

  /**
   * @throws InvalidAccessToken  401 for an absent, unknown, expired or revoked token
   * @throws TenantInactive  403 while the organization or its partner is not active
   * @throws KeyRateLimited  429 when the address has had too many of them
   */
  async authenticate(request: AccessRequest): Promise<ScimCaller> {
    const bucket = clientBucket({ address: clientAddress(request), headers: request.headers });
    this.throttle.assertNotBlocked('scim_token', bucket);
    const token = bearerToken(request);
    const record = token !== null && TOKEN_FORMAT.test(token) ? await this.find(bucket, hashKey(token)) : null;
    if (record === null) {
      await this.throttle.recordFailure('scim_token', bucket);
      throw new InvalidAccessToken();
    }
    const caller = toScimCaller(record);
    request.caller = caller;
    if (!record.tenantActive) throw new TenantInactive();
    return caller;
  }

  private find(bucket: string, tokenHash: Buffer): Promise<ScimTokenRecord | null> {
    const { scimTokens } = this.sources;
    if (!scimTokens) throw new Error('No SCIM_TOKEN_SOURCE is provided');
    return this.throttle.limitLookUps('scim_token', bucket, () => scimTokens.findByTokenHash(tokenHash));
  }
}

function toScimCaller({ tokenId, providerId, partnerId, orgId }: ScimTokenRecord): ScimCaller {
  return {
    kind: 'scim',
    actor: { type: 'system', id: tokenId },
    tenant: { scope: 'organization', partnerId, orgId, orgAccess: 'none', orgIds: [], userId: null },
    tokenId,
    providerId,
    partnerId,
    orgId,
  };
}
