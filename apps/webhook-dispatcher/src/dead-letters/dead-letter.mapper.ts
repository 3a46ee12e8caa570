import type { DeadLetter } from './dead-letter.entity.js';
import type { DeadLetterDto } from './dto/dead-letter.dto.js';

export const toDeadLetterDto = (row: DeadLetter): DeadLetterDto => ({
  jobId: row.deliveryId,
  deliveryId: row.deliveryId,
  webhookId: row.webhookId,
  orgId: row.orgId ?? row.eventOrgId,
  event: row.eventType,
  eventId: row.eventId,
  attempts: row.attempts,
  responseStatus: row.responseStatus,
  errorMessage: row.errorMessage,
  failedAt: row.failedAt.toISOString(),
});
