import { Injectable } from '@nestjs/common';
import { Outbound, type OutboundResponse, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { type RequestShape, requestShapeOf } from '../attempt-log/request-shape.mapper.js';
import { formatResponseHeaders } from '../attempt-log/response-headers.mapper.js';
import { DispatcherConfig } from '../config.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscription } from '../subscriptions/subscription.mapper.js';
import { BreakersService } from './breaker/breakers.service.js';
import { deliveryHeaders } from './delivery-request.js';
import type { LeasedDelivery } from './leased-delivery.types.js';
import { type AttemptResult, createInactiveOutcome, NO_RESULT, type Outcome } from './outcome.js';
import { retryAfterMs } from './retry-after.js';
import { DEFAULT_RETRY_POLICY, retryDelayMs, type RetryPolicy } from './retry-delay.js';
import { ERROR_BODY_CHARACTERS, truncateText, RESPONSE_BODY_CHARACTERS } from './truncate-text.js';

/** Limit of the response bytes that are read. @see docs/reference/webhooks.md */
const MAX_RESPONSE_BYTES = 64 * 1024;

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
    private readonly index: SubscriptionIndexService,
    private readonly breakers: BreakersService,
    private readonly clock: Clock,
    private readonly config: DispatcherConfig,
  ) {}

  /** Sends a delivery with the current settings of its webhook and returns the outcome. */
  async attempt(delivery: LeasedDelivery): Promise<Outcome> {
    const subscription = this.index.find(delivery.webhookId);
    if (subscription) {
      const completed = await this.send(subscription, delivery);
      return toOutcome(delivery, completed, subscription.retryPolicy);
    }
    if (!this.index.isBroken(delivery.webhookId)) return createInactiveOutcome(delivery);
    const startedMs = this.clock.nowMs();
    return toOutcome(delivery, createFailure(startedMs, 'Webhook settings cannot be read'), DEFAULT_RETRY_POLICY);
  }

  private async send(subscription: Subscription, delivery: LeasedDelivery): Promise<CompletedAttempt> {
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
      this.breakers.recordResponse(subscription.origin, responseTimeMs);
      return this.evaluate(response, startedMs, responseTimeMs, shape);
    } catch (error) {
      this.breakers.recordFailure(subscription.origin, error, this.clock.nowMs() - startedMs);
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

function toOutcome(delivery: LeasedDelivery, completed: CompletedAttempt, policy: RetryPolicy): Outcome {
  const { isSuccess, retryAfterMs: requestedMs, result } = completed;
  if (isSuccess) return createDeliveredOutcome(delivery, result);
  const base = { ...result, delivery, attempted: true };
  const delayMs = retryDelayMs(policy, delivery.attempt);
  if (delayMs === null) return { ...base, status: 'failed', isDeadLetter: true };
  return { ...base, status: 'retrying', delayMs: Math.max(delayMs, requestedMs ?? 0) };
}

/** Copies field by field, since most outcomes are of this kind and spreading an object costs ten times as much. */
const createDeliveredOutcome = (
  delivery: LeasedDelivery,
  { startedMs, shape, responseStatus, responseHeaders, responseBody, responseTimeMs, errorMessage }: AttemptResult,
): Outcome => ({
  status: 'delivered',
  delivery,
  attempted: true,
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
