/** Compiled with the specs, never run: shows that the maps of messages are complete and consistent. */
import type {
  AccessGrant,
  AccessSnapshot,
  AuditAction,
  AuditEntry,
  DomainEvent,
  EventMap,
  EventType,
  IntegrationEvent,
  RpcRequest,
} from './index.js';
import type { CREDENTIALS_KEYS_RESOLVE } from './index.js';

/** Fails to compile when a published event is not an event type that webhooks can subscribe to. */
export const publishedAreEventTypes = (type: keyof EventMap): EventType => type;

export const knownAction: AuditAction = 'webhook.dead_letter.retry';
// @ts-expect-error: misspelt audit action
export const unknownAction: AuditAction = 'webhook.dead_leter.retry';
export const entryOf = (entry: AuditEntry): AuditAction => entry.action;

export const slugOf = (event: IntegrationEvent<'partner.updated'>): string => event.data.slug;
// @ts-expect-error: a field of another event
export const siteOf = (event: IntegrationEvent<'partner.updated'>): string => event.data.siteId;
// @ts-expect-error: misspelt event type
export type UnknownEvent = DomainEvent<'device.onlne'>;

/** The type of an event selects the type of its data. */
export function ownerOf(event: IntegrationEvent<'partner.updated' | 'site.deleted'>): string {
  return event.type === 'site.deleted' ? event.data.siteId : event.data.partnerId;
}

export const keyHash: RpcRequest<typeof CREDENTIALS_KEYS_RESOLVE> = { keyHash: '00' };
// @ts-expect-error: misspelt field of a request
export const misspeltField: RpcRequest<typeof CREDENTIALS_KEYS_RESOLVE> = { keyhash: '00' };

export const permissions: (AccessSnapshot | AccessGrant)['permissions'] = ['sites:read', '*:*'];
// @ts-expect-error: misspelt permission
export const misspeltPermissions: (AccessSnapshot | AccessGrant)['permissions'] = ['sites:raed'];
// @ts-expect-error: a method that is no second factor
export const unknownMethods: AccessSnapshot['allowedMfaMethods'] = ['email'];
