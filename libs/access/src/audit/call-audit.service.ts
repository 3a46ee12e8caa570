import { Injectable } from '@nestjs/common';
import { currentContext } from '@rmm/service-kit';
import { type AccessRequest, type AccessResponse, routePathOf } from '../callers/access-request.js';
import type { Caller } from '../callers/caller.js';
import type { RoutePolicy } from '../route-access/route-access.policy.js';
import { DenialAuditService } from './denial-audit.service.js';
import { toDenial } from './denial.mapper.js';
import { FallbackAuditService } from './fallback-audit.service.js';

const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Audits what the guard cannot see: denials by a handler, and mutating requests whose handler wrote no audit row.
 * Requests whose handler wrote its own row are left alone. It is no interceptor: with a global one Nest runs every handler as
 * an observable, at a tenth of the CPU of a small request.
 */
@Injectable()
export class CallAuditService {
  constructor(
    private readonly denials: DenialAuditService,
    private readonly fallback: FallbackAuditService,
  ) {}

  /** Audits the outcome of a request that the guard has accepted, also when its client does not wait for it. */
  observe(request: AccessRequest, response: AccessResponse, caller: Caller, policy: RoutePolicy): void {
    response.onFailure = (error) => {
      const denial = isAudited() ? null : toDenial(request, error);
      if (denial) this.denials.record(denial);
    };
    const { method = '' } = request;
    if (!MUTATING.has(method) || policy.skipFallbackAudit) return;
    beforeEnd(response, () => {
      const { statusCode: status } = response;
      if (isAudited() || status < 200 || status > 299) return;
      this.fallback.record({ caller, method, path: routePathOf(request), status });
    });
  }
}

const isAudited = (): boolean => currentContext()?.audited === true;

/** Calls `listener` once, when the response is complete. A response whose client has left emits no `finish`. */
function beforeEnd(response: AccessResponse, listener: () => void): void {
  const end = Reflect.get(response, 'end') as (...given: unknown[]) => AccessResponse;
  response.end = (...given: unknown[]) => {
    response.end = end;
    listener();
    return Reflect.apply(end, response, given);
  };
}
