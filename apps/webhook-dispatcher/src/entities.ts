import { Attempt } from './attempt-log/attempt.entity.js';
import { StoredRequestShape } from './attempt-log/stored-request-shape.entity.js';
import { DeadLetter } from './dead-letters/dead-letter.entity.js';
import { Delivery } from './deliveries/delivery.entity.js';
import { EventBody } from './deliveries/event-body.entity.js';
import { DispatcherInstance } from './sending/dispatcher-instance.entity.js';
import { DeliveryShard } from './sending/shards/delivery-shard.entity.js';
import { WebhookCounter } from './webhooks/webhook-counter.entity.js';
import { Webhook } from './webhooks/webhook.entity.js';

export const ENTITIES = [
  Attempt,
  DeadLetter,
  Delivery,
  DeliveryShard,
  DispatcherInstance,
  EventBody,
  StoredRequestShape,
  Webhook,
  WebhookCounter,
];
