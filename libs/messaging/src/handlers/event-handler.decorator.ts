import { applyDecorators, UseFilters } from '@nestjs/common';
import { EventPattern } from '@nestjs/microservices';
import {
  INTEGRATION_EVENT_PUBLISHERS,
  subjects,
  type DomainEvent,
  type Envelope,
  type IntegrationEvent,
  type IntegrationEventType,
  type PublishedEventType,
} from '@rmm/contracts';
import type { MessageContext } from '../consume/jetstream.transport.js';
import { RethrowFilter } from '../rpc/rethrow.filter.js';

type EventHandlerDecorator<Event> = <Handler extends (event: Event, context: MessageContext) => Promise<void> | void>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Subscribes a controller method to integration events of other services:
 * `@OnIntegrationEvent('partner.updated') async updated(event: IntegrationEvent<'partner.updated'>)`.
 * The message is acknowledged when the method resolves and delivered again when it throws.
 */
export function OnIntegrationEvent<Type extends IntegrationEventType>(
  ...types: Type[]
): EventHandlerDecorator<IntegrationEvent<Type>> {
  return onSubjects(types.map((type) => subjects.internal(INTEGRATION_EVENT_PUBLISHERS[type], type)));
}

/** Subscribes a controller method to domain events of all organizations. */
export function OnDomainEvent<Type extends PublishedEventType>(
  ...types: Type[]
): EventHandlerDecorator<DomainEvent<Type>> {
  return onSubjects(types.map((type) => subjects.event('*', type)));
}

/**
 * Subscribes a controller method to the records of every resource that other services publish for export. The data of
 * the envelope is the message as it was sent: nothing of it is checked.
 */
export function OnRecord(): EventHandlerDecorator<Envelope<Readonly<Record<string, unknown>>>> {
  return onSubjects([subjects.record('*', 'upsert'), subjects.record('*', 'delete')]);
}

const onSubjects = (patterns: string[]): MethodDecorator =>
  applyDecorators(EventPattern(patterns), UseFilters(RethrowFilter));
