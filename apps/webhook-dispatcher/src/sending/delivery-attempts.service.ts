import { Inject, Injectable } from '@nestjs/common';
import { Outbound, type OutboundResponse, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { type Span, traceparentOf } from '@rmm/tracing';
import {
  ERROR_BODY_CHARACTERS,
  formatResponseHeaders,
  requestShapeOf,
  RESPONSE_BODY_CHARACTERS,
  truncateText,
} from '../attempt-log/stored-exchange.mapper.js';
import { DISPATCHER_CONFIG, type DispatcherConfig } from '../config.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { endAttemptSpan, startAttemptSpan } from './attempt-span.js';
import { BreakersService } from './breakers.service.js';
import { deliveryHeaders } from './delivery-request.js';
import { createOutcome, type Outcome, type QueuedDelivery } from './queued-delivery.js';
import { requestedPauseMs, retryDelayMs, type RetryPolicy } from './retry-delay.js';

/** Limit of the response bytes that are read. @see docs/reference/webhooks.md */
const MAX_RESPONSE_BYTES = 64 * 1024;
const TOO_MANY_REQUESTS = 429;

/** Attempts deliveries. */
@Injectable()
export class DeliveryAttemptsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly breakers: BreakersService,
    private readonly clock: Clock,
    @Inject(DISPATCHER_CONFIG) private readonly config: DispatcherConfig,
  ) {}

  /** Sends a delivery with the settings of its webhook and returns the outcome. Never rejects. */
  async attempt(subscription: Subscription, delivery: QueuedDelivery): Promise<Outcome> {
    const span = startAttemptSpan(subscription, delivery);
    const outcome = await this.send(subscription, delivery, span);
    endAttemptSpan(span, outcome);
    return outcome;
  }

  private async send(subscription: Subscription, delivery: QueuedDelivery, span: Span): Promise<Outcome> {
    const { webhookId, url, retryPolicy } = subscription;
    const { body } = delivery;
    const startedMs = this.clock.nowMs();
    const outcome = createOutcome(delivery, 'failed', startedMs);
    if (body === null) {
      outcome.errorMessage = 'The payload is no longer stored';
      return scheduleRetry(outcome, null, retryPolicy);
    }
    try {
      const headers = deliveryHeaders(subscription, delivery, body, startedMs);
      if (this.config.sendTraceparent) addTraceparent(headers, span);
      outcome.shape = requestShapeOf(subscription, headers);
      const { timeoutMs } = this.config;
      const response = await this.outbound.post({
        url,
        headers,
        body,
        timeoutMs,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      });
      outcome.responseTimeMs = this.clock.nowMs() - startedMs;
      this.breakers.recordResponse(webhookId, outcome.responseTimeMs);
      return this.evaluate(outcome, response, retryPolicy);
    } catch (error) {
      const durationMs = this.clock.nowMs() - startedMs;
      this.breakers.recordFailure(webhookId, error, durationMs);
      outcome.errorMessage = messageOf(error);
      // Nothing is sent to an unsafe URL, so there is no response time.
      if (error instanceof UnsafeAddress) outcome.shape = null;
      else outcome.responseTimeMs = durationMs;
      return scheduleRetry(outcome, null, retryPolicy);
    }
  }

  private evaluate(outcome: Outcome, { status, headers, body }: OutboundResponse, policy: RetryPolicy): Outcome {
    outcome.responseStatus = status;
    outcome.responseHeaders = formatResponseHeaders(headers);
    outcome.responseBody = truncateText(body, RESPONSE_BODY_CHARACTERS);
    if (status >= 200 && status < 300) {
      outcome.status = 'delivered';
      return outcome;
    }
    outcome.errorMessage = `HTTP ${status}: ${truncateText(body, ERROR_BODY_CHARACTERS)}`;
    const { retryAfterCapSeconds } = this.config;
    const requestedMs = requestedPauseMs(status, headers['retry-after'], this.clock.nowMs(), retryAfterCapSeconds);
    return scheduleRetry(outcome, requestedMs, policy);
  }
}

/**
 * Sets when a failed attempt is repeated, if it is, and how long the whole webhook pauses: as long as the receiver asks,
 * else after a 429 as long as the retry waits.
 */
function scheduleRetry(outcome: Outcome, requestedMs: number | null, policy: RetryPolicy): Outcome {
  const delayMs = retryDelayMs(policy, outcome.delivery.attempt);
  const isLimited = outcome.responseStatus === TOO_MANY_REQUESTS;
  outcome.pauseMs = requestedMs ?? (isLimited ? (delayMs ?? policy.maxDelayMs) : 0);
  if (delayMs === null) return outcome;
  outcome.status = 'retrying';
  outcome.delayMs = Math.max(delayMs, outcome.pauseMs);
  return outcome;
}

/** Adds the trace unless the webhook has a header of that name. */
function addTraceparent(headers: Record<string, string>, span: Span): void {
  const traceparent = traceparentOf(span);
  const isTaken = Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent');
  if (traceparent !== undefined && !isTaken) headers.traceparent = traceparent;
}

function messageOf(error: unknown): string {
  if (error instanceof UnsafeAddress) return `Unsafe webhook URL: ${error.message}`;
  if (error instanceof OutboundTimeout) return error.message;
  return error instanceof Error ? error.message : 'Network error';
}
