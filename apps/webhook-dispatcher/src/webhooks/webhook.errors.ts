import { BadRequestError, ConflictError, NotFoundError } from '@rmm/service-kit';
import { SUPPORTED_EVENTS } from './event-catalog.constants.js';

export class WebhookNotFound extends NotFoundError {
  constructor() {
    super('Webhook');
  }
}

/** A partner or system caller named no organization. */
export class OrganizationContextRequired extends BadRequestError {
  override code = 'organization_context_required';
  override error = 'Organization context required';
}

export class InvalidWebhookUrl extends BadRequestError {
  override code = 'invalid_webhook_url';
  override error = 'Invalid webhook URL';

  constructor(reasons: readonly string[]) {
    super(undefined, { message: `Invalid webhook URL: ${reasons.join('; ')}` });
  }
}

export class UnsupportedEventType extends BadRequestError {
  override code = 'unsupported_event_type';
  override error = 'Unsupported event type';

  constructor(events: readonly string[], supportedEvents: readonly string[] = SUPPORTED_EVENTS) {
    super(undefined, {
      message: `Unsupported event type: ${events.join(', ')}`,
      extras: { supportedEvents: [...supportedEvents] },
    });
  }
}

export class WebhookNotActive extends ConflictError {
  override code = 'webhook_not_active';
  override error = 'Webhook is not active';
}

export class TooManyWebhooks extends ConflictError {
  override code = 'webhook_limit_reached';
  override error = 'The organization has the largest number of webhooks';
}

export class TooManyPartnerWebhooks extends TooManyWebhooks {
  override error = 'The partner has the largest number of webhooks of its own';
}
