import { Injectable } from '@nestjs/common';
import { Outbound, type OutboundResponse, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import { Clock } from '@rmm/service-kit';
import { formatResponseHeaders } from '../attempt-log/response-headers.js';
import { type RequestShape, requestShapeOf } from '../attempt-log/request-shape.js';
import { DispatcherConfig } from '../config.js';
import { SubscriptionIndexService } from '../subscriptions/subscription-index.service.js';
import type { Subscription } from '../subscriptions/subscription.js';
import { BreakersService } from './breaker/breakers.service.js';
import { deliveryHeaders } from './delivery-request.js';
import type { LeasedDelivery } from './leased-delivery.js';
import { ERROR_BODY_CHARACTERS, truncateText, RESPONSE_BODY_CHARACTERS } from './truncate-text.js';
import { type AttemptResult, notActive, NO_RESULT, type Outcome } from './outcome.js';
import { retryAfterMs } from './retry-after.js';
import { DEFAULT_RETRY_POLICY, retryDelayMs, type RetryPolicy } from './retry-delay.js';

/** CONTRACT 4.9: at most this much of an answer is read, in bytes. */
const MAX_RESPONSE_BYTES = 64 * 1024;

interface Tried {
  result: AttemptResult;
  isSuccess: boolean;
  retryAfterMs: number | null;
}

/** Makes one attempt at a delivery and says what becomes of it. Never throws. */
@Injectable()
export class DeliveryAttemptsService {
  constructor(
    private readonly outbound: Outbound,
    private readonly index: SubscriptionIndexService,
    private readonly breakers: BreakersService,
    private readonly clock: Clock,
    private readonly config: DispatcherConfig,
  ) {}

  /** The webhook is taken as it is now: a new URL or secret counts from the next attempt on. */
  async make(delivery: LeasedDelivery): Promise<Outcome> {
    const subscription = this.index.find(delivery.webhookId);
    if (subscription) {
      const tried = await this.try(subscription, delivery);
      return outcomeOf(delivery, tried, subscription.retryPolicy);
    }
    if (!this.index.isBroken(delivery.webhookId)) return notActive(delivery);
    const startedMs = this.clock.nowMs();
    return outcomeOf(delivery, failure(startedMs, 'Webhook settings cannot be read'), DEFAULT_RETRY_POLICY);
  }

  private async try(subscription: Subscription, delivery: LeasedDelivery): Promise<Tried> {
    const { body } = delivery;
    const startedMs = this.clock.nowMs();
    if (body === null) return failure(startedMs, 'The payload is no longer kept');
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
      this.breakers.answered(subscription.origin, responseTimeMs);
      return this.answered(response, startedMs, responseTimeMs, shape);
    } catch (error) {
      this.breakers.failed(subscription.origin, error, this.clock.nowMs() - startedMs);
      const failed = failure(startedMs, messageOf(error));
      // Nothing was sent for an unsafe URL, so there is no time an answer took.
      if (!(error instanceof UnsafeAddress)) {
        failed.result.shape = shape;
        failed.result.responseTimeMs = this.clock.nowMs() - startedMs;
      }
      return failed;
    }
  }

  private answered(
    { status, headers, body }: OutboundResponse,
    startedMs: number,
    responseTimeMs: number,
    shape: RequestShape,
  ): Tried {
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
    const askedMs = retryAfterMs(status, headers['retry-after'], this.clock.nowMs(), this.config.retryAfterCapSeconds);
    return { result, isSuccess, retryAfterMs: askedMs };
  }
}

function outcomeOf(delivery: LeasedDelivery, tried: Tried, policy: RetryPolicy): Outcome {
  const { isSuccess, retryAfterMs: askedMs, result } = tried;
  if (isSuccess) return deliveredBy(delivery, result);
  const base = { ...result, delivery, attempted: true };
  const delayMs = retryDelayMs(policy, delivery.attempt);
  if (delayMs === null) return { ...base, status: 'failed', isDeadLetter: true };
  return { ...base, status: 'retrying', delayMs: Math.max(delayMs, askedMs ?? 0) };
}

/** Field by field, since it is the outcome of almost all: an object spread out costs ten times as much. */
const deliveredBy = (
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

const failure = (startedMs: number, errorMessage: string): Tried => ({
  result: { ...NO_RESULT, startedMs, errorMessage },
  isSuccess: false,
  retryAfterMs: null,
});

function messageOf(error: unknown): string {
  if (error instanceof UnsafeAddress) return `Unsafe webhook URL: ${error.message}`;
  if (error instanceof OutboundTimeout) return error.message;
  return error instanceof Error ? error.message : 'Network error';
}
