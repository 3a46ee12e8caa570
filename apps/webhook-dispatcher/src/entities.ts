import { Attempt } from './attempt-log/attempt.entity.js';
import { StoredRequestShape } from './attempt-log/stored-request-shape.entity.js';
import { DeadLetter } from './dead-letters/dead-letter.entity.js';
import { Delivery } from './deliveries/delivery.entity.js';
import { EventBody } from './deliveries/event-body.entity.js';
import { WebhookRecovery } from './recovery/webhook-recovery.entity.js';
import { DeliveryPartition } from './replicas/delivery-partition.entity.js';
import { DispatcherReplica } from './replicas/dispatcher-replica.entity.js';
import { DeletedWebhook } from './webhooks/deleted-webhook.entity.js';
import { WebhookCounter } from './webhooks/webhook-counter.entity.js';
import { Webhook } from './webhooks/webhook.entity.js';

export const ENTITIES = [
  Attempt,
  DeadLetter,
  DeletedWebhook,
  Delivery,
  DeliveryPartition,
  DispatcherReplica,
  EventBody,
  StoredRequestShape,
  Webhook,
  WebhookCounter,
  WebhookRecovery,
];
