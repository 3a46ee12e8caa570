import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { ApiKeyScope } from '@rmm/permissions';
import { InternalError } from '@rmm/service-kit';
import { ApiKeyNotAcceptedHere, InvalidApiKey } from './access.errors.js';
import type { AgentAuthenticator } from './agents/agent.authenticator.js';
import {
  type AccessRequest,
  type AccessResponse,
  bearerToken,
  presentedKey,
  routeOf,
} from './callers/access-request.js';
import type { Caller } from './callers/caller.js';
import type { Denials } from './denials/denials.js';
import { refusalOf } from './denials/refusal.js';
import { policyOf, type RoutePolicy } from './route-access/route-policy.js';
import type { ApiKeyAuthenticator } from './keys/api-key.authenticator.js';
import type { UserAuthenticator } from './users/user.authenticator.js';

/** The one guard of a service: leads each request through the door its route declares. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly users: UserAuthenticator,
    private readonly keys: ApiKeyAuthenticator,
    private readonly agents: AgentAuthenticator,
    private readonly denials: Denials,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') return true;
    const http = context.switchToHttp();
    const request = http.getRequest<AccessRequest>();
    const policy = policyOf(context.getClass(), context.getHandler());
    // Start-up refuses such a route; should one come through all the same, it is closed.
    if (policy === null)
      throw new InternalError(undefined, { logDetails: { route: routeOf(request), reason: 'no door' } });
    try {
      request.caller = await this.lead(policy, request, http.getResponse<AccessResponse>());
    } catch (error) {
      this.audit(request, error);
      throw error;
    }
    return true;
  }

  private lead(policy: RoutePolicy, request: AccessRequest, response: AccessResponse): Promise<Caller | undefined> {
    const { door } = policy;
    switch (door.kind) {
      case 'permission':
        return this.users.enter(request, response, { all: door.permissions }, policy);
      case 'signed-in':
        return this.users.enter(request, response, null, policy);
      case 'api-key':
        return this.keyOrUser(door.scopes, policy, request, response);
      case 'partner-key':
        return this.keys.enterWithPartnerKey(request, response, door.scopes);
      case 'agent-token':
        return this.agents.enter(request);
      case 'public':
        return Promise.resolve(refuseStrayKey(request));
    }
  }

  private keyOrUser(
    scopes: readonly ApiKeyScope[],
    policy: RoutePolicy,
    request: AccessRequest,
    response: AccessResponse,
  ): Promise<Caller> {
    if (presentedKey(request) !== null) return this.keys.enterWithApiKey(request, response, scopes);
    const keysOnly = policy.keysOnly || scopes.length === 0;
    if (keysOnly || bearerToken(request) === null) return Promise.reject(new InvalidApiKey());
    return this.users.enter(request, response, { any: scopes }, policy);
  }

  private audit(request: AccessRequest, error: unknown): void {
    const refusal = refusalOf(request, error);
    if (refusal) this.denials.record(refusal);
  }
}

/** An API key alone is refused wherever it is not accepted, also where nothing is asked for. @see CONTRACT.md 1.4 */
function refuseStrayKey(request: AccessRequest): undefined {
  if (presentedKey(request) !== null && bearerToken(request) === null) throw new ApiKeyNotAcceptedHere();
  return undefined;
}
