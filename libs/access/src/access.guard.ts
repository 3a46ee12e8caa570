import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { ApiKeyScope } from '@rmm/permissions';
import { InternalError, toDomainError } from '@rmm/service-kit';
import { ApiKeyNotAcceptedHere, InvalidApiKey } from './access.errors.js';
import { type AuthenticationKind, AccessMetrics, outcomeOf } from './access.metrics.js';
import { AgentAuthenticator } from './agents/agent.authenticator.js';
import { CallAuditService } from './audit/call-audit.service.js';
import { DenialAuditService } from './audit/denial-audit.service.js';
import { toDenial } from './audit/denial.mapper.js';
import {
  type AccessRequest,
  type AccessResponse,
  bearerToken,
  presentedKey,
  routeOf,
} from './callers/access-request.js';
import type { Caller } from './callers/caller.js';
import { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
import { policyOf, type RoutePolicy } from './route-access/route-access.policy.js';
import { ScimAuthenticator } from './scim/scim.authenticator.js';
import { UserAuthenticator } from './users/user.authenticator.js';

/** The global guard: authenticates each request by the access decorator of its route and stores the caller on it. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly users: UserAuthenticator,
    private readonly keys: ApiKeyAuthenticator,
    private readonly agents: AgentAuthenticator,
    private readonly scim: ScimAuthenticator,
    private readonly denials: DenialAuditService,
    private readonly calls: CallAuditService,
    private readonly metrics: AccessMetrics,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const http = context.switchToHttp();
    const request = http.getRequest<AccessRequest>();
    const response = http.getResponse<AccessResponse>();
    const policy = policyOf(context.getClass(), context.getHandler());
    // The start fails when such a route exists; this denies it should one be added later.
    if (policy === null) {
      throw new InternalError(undefined, { logDetails: { route: routeOf(request), reason: 'no access decorator' } });
    }
    try {
      request.caller = await this.authenticate(policy, request, response);
    } catch (error) {
      this.metrics.countAuthentication(kindOf(policy, request), outcomeOf(toDomainError(error).status));
      const denial = toDenial(request, error);
      if (denial) this.denials.record(denial);
      throw error;
    }
    if (request.caller) {
      this.metrics.countAuthentication(request.caller.kind, 'accepted');
      this.calls.observe(request, response, request.caller, policy);
    }
    return true;
  }

  private authenticate(
    policy: RoutePolicy,
    request: AccessRequest,
    response: AccessResponse,
  ): Promise<Caller | undefined> {
    const { access } = policy;
    switch (access.kind) {
      case 'permission':
        return this.users.authenticate(request, response, { all: access.permissions }, policy);
      case 'signed-in':
        return this.users.authenticate(request, response, null, policy);
      case 'api-key':
        return this.authenticateKeyOrUser(access.scopes, policy, request, response);
      case 'partner-key':
        return this.keys.authenticatePartnerKey(request, response, access.scopes, policy);
      case 'agent-token':
        return this.agents.authenticate(request);
      case 'scim-token':
        rejectApiKey(request);
        return this.scim.authenticate(request);
      case 'public':
        return Promise.resolve(rejectApiKey(request));
    }
  }

  private authenticateKeyOrUser(
    scopes: readonly ApiKeyScope[],
    policy: RoutePolicy,
    request: AccessRequest,
    response: AccessResponse,
  ): Promise<Caller> {
    if (presentedKey(request) !== null) return this.keys.authenticateApiKey(request, response, scopes);
    const keysOnly = policy.keysOnly || scopes.length === 0;
    if (keysOnly || bearerToken(request) === null) return Promise.reject(new InvalidApiKey());
    return this.users.authenticate(request, response, { any: scopes }, policy);
  }
}

/** Rejects a request whose only credential is an API key, also on routes that need no credential. */
function rejectApiKey(request: AccessRequest): undefined {
  if (presentedKey(request) !== null && bearerToken(request) === null) throw new ApiKeyNotAcceptedHere();
  return undefined;
}

/** Returns the kind of credential that a refused request was to be authenticated by. */
function kindOf({ access }: RoutePolicy, request: AccessRequest): AuthenticationKind {
  switch (access.kind) {
    case 'partner-key':
      return 'partner_key';
    case 'agent-token':
      return 'agent';
    case 'scim-token':
      return 'scim';
    case 'api-key':
    case 'public':
      return presentedKey(request) === null ? 'user' : 'api_key';
    default:
      return 'user';
  }
}
