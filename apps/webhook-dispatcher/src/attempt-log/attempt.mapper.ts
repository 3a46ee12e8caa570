import { Injectable } from '@nestjs/common';
import type { WebhookHeader } from '../webhooks/webhook-headers.policy.js';
import { WebhookSealingService } from '../webhooks/webhook-sealing.service.js';
import type { AttemptRow, LoggedDelivery } from './attempt-log.repository.js';
import type { AttemptDto } from './dto/attempt.dto.js';
import { parseResponseHeaders, restoreRequestHeaders } from './stored-exchange.mapper.js';

@Injectable()
export class AttemptMapper {
  constructor(private readonly sealing: WebhookSealingService) {}

  toDto(row: AttemptRow, webhookId: string, delivery: LoggedDelivery): AttemptDto {
    const customHeaders = this.openReadable(webhookId, row.headers ?? []);
    return {
      attempt: row.attempt,
      startedAt: row.startedAt.toISOString(),
      durationMs: row.durationMs,
      outcome: row.outcome,
      responseStatus: row.responseStatus,
      requestHeaders: restoreRequestHeaders(row.names ?? [], customHeaders, delivery, row.startedAt),
      responseHeaders: parseResponseHeaders(row.responseHeaders),
      responseBody: row.responseBody,
      errorMessage: row.errorMessage,
    };
  }

  /** Leaves out headers whose key is missing; they are then shown masked. */
  private openReadable(webhookId: string, sealed: readonly WebhookHeader[]): WebhookHeader[] {
    return sealed.flatMap((header) => {
      try {
        return this.sealing.openHeaders(webhookId, [header]);
      } catch {
        return [];
      }
    });
  }
}
