import type { IdempotentRequest, RequestContext } from '@rmm/service-kit';
import type { AccessResponse } from '../callers/access-request.js';

/** Marks the response of a request that was carried out before; that request wrote the audit entries. */
export function markReplayed(request: IdempotentRequest, response: AccessResponse, context: RequestContext): void {
  if (!request.replayed) return;
  response.setHeader('Idempotency-Replayed', 'true');
  context.audited = true;
}
