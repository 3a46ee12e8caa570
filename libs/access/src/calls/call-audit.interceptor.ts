import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { currentContext } from '@rmm/service-kit';
import { tap } from 'rxjs';
import { type AccessRequest, type AccessResponse, routePathOf } from '../callers/access-request.js';
import type { Denials } from '../denials/denials.js';
import { refusalOf } from '../denials/refusal.js';
import { policyOf } from '../route-access/route-policy.js';
import type { FallbackAudit } from './fallback-audit.js';

const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * What the guard cannot see: a refusal that a handler decides on becomes a denied row, as the guard's own do, and a
 * change whose handler wrote no row gets one. Handlers that write their own rows are left alone.
 */
@Injectable()
export class CallAudit implements NestInterceptor {
  constructor(
    private readonly denials: Denials,
    private readonly fallback: FallbackAudit,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): ReturnType<NestInterceptor['intercept']> {
    const answer = next.handle();
    if (context.getType() !== 'http') return answer;
    const http = context.switchToHttp();
    const request = http.getRequest<AccessRequest>();
    const { caller } = request;
    if (!caller) return answer;
    const isAudited = () => currentContext()?.audited === true;
    return answer.pipe(
      tap({
        complete: () => {
          const { method = '' } = request;
          if (!MUTATING.has(method) || isAudited()) return;
          const { statusCode: status } = http.getResponse<AccessResponse>();
          const skipped = policyOf(context.getClass(), context.getHandler())?.skipFallbackAudit;
          if (skipped || status < 200 || status > 299) return;
          this.fallback.record({ caller, method, path: routePathOf(request), status });
        },
        error: (error: unknown) => {
          const refusal = isAudited() ? null : refusalOf(request, error);
          if (refusal) this.denials.record(refusal);
        },
      }),
    );
  }
}
