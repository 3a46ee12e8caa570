import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { tap } from 'rxjs';
import { currentContext } from '@rmm/service-kit';
import { type AccessRequest, type AccessResponse, routePathOf } from '../callers/access-request.js';
import { policyOf } from '../route-access/route-access.policy.js';
import { DenialAuditService } from './denial-audit.service.js';
import { toDenial } from './denial.mapper.js';
import { FallbackAuditService } from './fallback-audit.service.js';

const MUTATING = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Audits what the guard cannot see: denials by a handler, and mutating requests whose handler wrote no audit row.
 * Requests whose handler wrote its own row are left alone.
 */
@Injectable()
export class CallAuditInterceptor implements NestInterceptor {
  constructor(
    private readonly denials: DenialAuditService,
    private readonly fallback: FallbackAuditService,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): ReturnType<NestInterceptor['intercept']> {
    const response = next.handle();
    if (context.getType() !== 'http') return response;
    const http = context.switchToHttp();
    const request = http.getRequest<AccessRequest>();
    const { caller } = request;
    if (!caller) return response;
    const isAudited = () => currentContext()?.audited === true;
    return response.pipe(
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
          const denial = isAudited() ? null : toDenial(request, error);
          if (denial) this.denials.record(denial);
        },
      }),
    );
  }
}
