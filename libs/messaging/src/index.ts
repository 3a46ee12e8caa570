export {
  AuditTrail,
  type AuditedCaller,
  type AuditedChange,
  type AuditedResource,
  resourceOf,
} from './audit/audit-trail.service.js';
export { oneLine, redactDetails } from './audit/redact-details.js';
export { Broadcasts, type BroadcastSubscription } from './broadcasts/broadcasts.service.js';
export { type ByteLimits, RoundRobinQueue, type WaitingItem } from './consume/round-robin-queue.js';
export { NatsLink, type NatsLinkOptions } from './connection/nats-link.service.js';
export { natsOptions, parseNatsUrl, type NatsAddress } from './connection/nats-options.js';
export { DeadLetterMessagesRepository, type DeadLetterMessage } from './consume/dead-letter-messages.repository.js';
export { DeadLetterMessagesService } from './consume/dead-letter-messages.service.js';
export {
  EventBatches,
  type BatchMessage,
  type BatchOptions,
  type BatchSubscription,
} from './consume/event-batches.service.js';
export { EventStreams, type EventStreamOptions } from './consume/event-streams.service.js';
export { LatestMessages, type LatestMessage } from './consume/latest-messages.js';
export type { EventStreamSubscription, StreamMessage } from './consume/stream-reader.js';
export { Inbox } from './consume/inbox.repository.js';
export { JetStreamServer, MessageContext, type ConsumerOptions } from './consume/jetstream.transport.js';
export { DEFAULT_REDELIVERY_POLICY, type RedeliveryPolicy } from './consume/message-settler.js';
export {
  currentConsumer,
  handleInContext,
  jobContext,
  runJob,
  withMessageContext,
  type JobContext,
} from './context/execution-context.js';
export { decodeEnvelope, type Decoded } from './envelope/decode-envelope.js';
export { OnDomainEvent, OnIntegrationEvent, OnRecord } from './handlers/event-handler.decorator.js';
export { MessagingMetrics } from './messaging.metrics.js';
export { MessageRejected, UnsuitableNatsServer } from './messaging.errors.js';
export { MessagingModule } from './messaging.module.js';
export { MESSAGING_OPTIONS, type MessagingModuleOptions } from './messaging.options.js';
export { BroadcastOutboxRepository } from './outbox/broadcast-outbox.repository.js';
export type { OutgoingMessage } from './outbox/outbox-message.js';
export { OutboxRelay, type RelayOptions } from './outbox/outbox-relay.service.js';
export { Outbox, type OutboxTransaction } from './outbox/outbox.service.js';
export { OutboxRepository } from './outbox/outbox.repository.js';
export { RpcClient, type RpcOptions } from './rpc/rpc-client.service.js';
export { RpcHandler } from './rpc/rpc-handler.decorator.js';
export { RpcContext } from './rpc/rpc-server.js';
export { ensureStreams, type StreamOptions } from './streams/streams.js';
