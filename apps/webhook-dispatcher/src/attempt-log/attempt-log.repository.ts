import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { listPage, type PageRequest, type PageRows, TenantDatabase, TenantRepository } from '@rmm/persistence';
import { Delivery } from '../deliveries/delivery.entity.js';
import { DeliveryNotFound } from '../deliveries/delivery.errors.js';
import type { Attempt } from './attempt.entity.js';
import type { AttemptOutcome } from './dto/attempt.dto.js';
import type { StoredRequestShape } from './stored-request-shape.entity.js';

/** An attempt with the shape of its request, which is null when nothing was sent. */
export type AttemptRow = Pick<
  Attempt,
  'attempt' | 'startedAt' | 'durationMs' | 'responseStatus' | 'responseHeaders' | 'responseBody' | 'errorMessage'
> & { outcome: AttemptOutcome } & (
    Pick<StoredRequestShape, 'names' | 'headers'> | Record<keyof Pick<StoredRequestShape, 'names' | 'headers'>, null>
  );

export type LoggedDelivery = Pick<Delivery, 'id' | 'eventId' | 'eventType' | 'createdAt'>;

/**
 * The attempts that were followed by another, and the last one, which is stored in its delivery. A delivery that ended
 * without an attempt has no `started_at`.
 */
const ATTEMPTS = `
  SELECT attempt, started_at, duration_ms, 'retrying' AS outcome, response_status, response_headers, response_body,
         error_message, request_shape
  FROM attempt WHERE delivery_id = :id AND created_at = :createdAt
  UNION ALL
  SELECT attempt, started_at, response_time_ms, status, response_status, response_headers, response_body,
         error_message, request_shape
  FROM delivery
  WHERE id = :id AND created_at = :createdAt AND status IN ('delivered', 'failed') AND started_at IS NOT NULL`;

@Injectable()
export class AttemptLogRepository extends TenantRepository<Delivery> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Delivery, () => new DeliveryNotFound(), { ownership: 'organization' });
  }

  /** @throws DeliveryNotFound */
  getDelivery(caller: Caller, webhookId: string, id: string): Promise<LoggedDelivery> {
    return this.getOne(caller, { where: { webhookId, id }, columns: ['id', 'eventId', 'eventType', 'createdAt'] });
  }

  /** Lists a page, oldest first. In SQL because the attempts of a delivery are in two tables. */
  listAttempts(caller: Caller, { id, createdAt }: LoggedDelivery, page: PageRequest): Promise<PageRows<AttemptRow>> {
    return listPage<AttemptRow>(this.tenants.reader(caller), {
      select: `a.attempt, a.started_at AS "startedAt", a.duration_ms AS "durationMs", a.outcome,
               a.response_status AS "responseStatus", a.response_headers AS "responseHeaders",
               a.response_body AS "responseBody", a.error_message AS "errorMessage", s.names, s.headers`,
      from: `(${ATTEMPTS}) a LEFT JOIN request_shape s ON s.id = a.request_shape`,
      params: { id, createdAt: createdAt.toISOString() },
      orderBy: 'a.attempt',
      page,
      budget: { columns: ['responseHeaders', 'responseBody'] },
    });
  }
}
