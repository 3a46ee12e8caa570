import type { DeliveryWithBody } from './deliveries.repository.js';
import type { DeliveryDto } from './dto/delivery.dto.js';

export const toDeliveryDto = (row: DeliveryWithBody): DeliveryDto => ({
  id: row.id,
  webhookId: row.webhookId,
  orgId: row.orgId,
  status: row.status,
  event: row.eventType,
  eventId: row.eventId,
  payload: row.body === null ? null : (JSON.parse(row.body) as Record<string, unknown>),
  responseStatus: row.responseStatus,
  responseBody: row.responseBody,
  responseTimeMs: row.responseTimeMs,
  errorMessage: row.errorMessage,
  attempt: row.attempt,
  maxAttempts: row.maxAttempts,
  nextAttemptAt: row.status === 'retrying' ? row.dueAt.toISOString() : null,
  createdAt: row.createdAt.toISOString(),
  deliveredAt: row.deliveredAt?.toISOString() ?? null,
});
