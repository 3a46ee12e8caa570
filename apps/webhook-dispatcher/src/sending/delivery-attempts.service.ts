import { Injectable } from '@nestjs/common';
import { Outbound, type OutboundResponse, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { type RequestShape, requestShapeOf } from '../attempt-log/request-shape.mapper.js';
import { formatResponseHeaders } from '../attempt-log/response-headers.mapper.js';
import { DispatcherConfig } from '../config.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { BreakersService } from './breakers.service.js';
import { deliveryHeaders } from './delivery-request.js';
import type { QueuedDelivery } from './delivery.types.js';
import { type AttemptResult, NO_RESULT, type Outcome } from './outcome.js';
import { retryAfterMs } from './retry-after.js';
import { retryDelayMs, type RetryPolicy } from './retry-delay.js';
import { ERROR_BODY_CHARACTERS, truncateText, RESPONSE_BODY_CHARACTERS } from './truncate-text.js';

/** Limit of the response bytes that are read. @see docs/reference/webhooks.md */
const MAX_RESPONSE_BYTES = 64 * 1024;
const TOO_MANY_REQUESTS = 429;

interface CompletedAttempt {
  result: AttemptResult;
  isSuccess: boolean;
  retryAfterMs: number | null;
}

/** Attempts deliveries. Never throws. */
@Injectable()
export class DeliveryAttemptsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly breakers: BreakersService,
    private readonly clock: Clock,
    private readonly config: DispatcherConfig,
  ) {}

  /** Sends a delivery with the settings of its webhook and returns the outcome. */
  async attempt(subscription: Subscription, delivery: QueuedDelivery): Promise<Outcome> {
    return toOutcome(delivery, await this.send(subscription, delivery), subscription.retryPolicy);
  }

  private async send(subscription: Subscription, delivery: QueuedDelivery): Promise<CompletedAttempt> {
    const { body } = delivery;
    const startedMs = this.clock.nowMs();
    if (body === null) return createFailure(startedMs, 'The payload is no longer stored');
    let shape: RequestShape | null = null;
    try {
      const requestHeaders = deliveryHeaders(subscription, delivery, body, startedMs);
      shape = requestShapeOf(subscription, requestHeaders);
      const response = await this.outbound.post({
        url: subscription.url,
        headers: requestHeaders,
        body,
        timeoutMs: this.config.timeoutMs,
        maxResponseBytes: MAX_RESPONSE_BYTES,
      });
      const responseTimeMs = this.clock.nowMs() - startedMs;
      this.breakers.recordResponse(subscription.webhookId, responseTimeMs);
      return this.evaluate(response, startedMs, responseTimeMs, shape);
    } catch (error) {
      this.breakers.recordFailure(subscription.webhookId, error, this.clock.nowMs() - startedMs);
      const failed = createFailure(startedMs, messageOf(error));
      // Nothing is sent to an unsafe URL, so there is no response time.
      if (!(error instanceof UnsafeAddress)) {
        failed.result.shape = shape;
        failed.result.responseTimeMs = this.clock.nowMs() - startedMs;
      }
      return failed;
    }
  }

  private evaluate(
    { status, headers, body }: OutboundResponse,
    startedMs: number,
    responseTimeMs: number,
    shape: RequestShape,
  ): CompletedAttempt {
    const isSuccess = status >= 200 && status < 300;
    const result = {
      startedMs,
      shape,
      responseStatus: status,
      responseHeaders: formatResponseHeaders(headers),
      responseBody: truncateText(body, RESPONSE_BODY_CHARACTERS),
      responseTimeMs,
      errorMessage: isSuccess ? null : `HTTP ${status}: ${truncateText(body, ERROR_BODY_CHARACTERS)}`,
    };
    const requestedMs = retryAfterMs(
      status,
      headers['retry-after'],
      this.clock.nowMs(),
      this.config.retryAfterCapSeconds,
    );
    return { result, isSuccess, retryAfterMs: requestedMs };
  }
}

function toOutcome(delivery: QueuedDelivery, completed: CompletedAttempt, policy: RetryPolicy): Outcome {
  const { isSuccess, result } = completed;
  if (isSuccess) return createOutcome(delivery, result, 'delivered', 0, 0);
  const delayMs = retryDelayMs(policy, delivery.attempt);
  const pauseMs = pauseOf(completed, delayMs ?? policy.maxDelayMs);
  if (delayMs === null) return createOutcome(delivery, result, 'failed', 0, pauseMs);
  return createOutcome(delivery, result, 'retrying', Math.max(delayMs, pauseMs), pauseMs);
}

/** Returns how long the whole webhook pauses: as long as the receiver asks, else after a 429 as long as the retry waits. */
function pauseOf({ retryAfterMs: requestedMs, result }: CompletedAttempt, retryMs: number): number {
  return requestedMs ?? (result.responseStatus === TOO_MANY_REQUESTS ? retryMs : 0);
}

/** Copies field by field, since there is one for each attempt and spreading an object costs ten times as much. */
const createOutcome = (
  delivery: QueuedDelivery,
  { startedMs, shape, responseStatus, responseHeaders, responseBody, responseTimeMs, errorMessage }: AttemptResult,
  status: Outcome['status'],
  delayMs: number,
  pauseMs: number,
): Outcome => ({
  delivery,
  status,
  attempted: true,
  delayMs,
  pauseMs,
  isDeadLetter: status === 'failed',
  startedMs,
  shape,
  responseStatus,
  responseHeaders,
  responseBody,
  responseTimeMs,
  errorMessage,
});

const createFailure = (startedMs: number, errorMessage: string): CompletedAttempt => ({
  result: { ...NO_RESULT, startedMs, errorMessage },
  isSuccess: false,
  retryAfterMs: null,
});

function messageOf(error: unknown): string {
  if (error instanceof UnsafeAddress) return `Unsafe webhook URL: ${error.message}`;
  if (error instanceof OutboundTimeout) return error.message;
  return error instanceof Error ? error.message : 'Network error';
}
