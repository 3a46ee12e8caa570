import type { Envelope } from '../envelope.js';
import type { ApiKeyChanged, ApiKeyUpdated } from './api-key.events.js';
import type {
  DeviceDecommissioned,
  DeviceEnrolled,
  DeviceOffline,
  DeviceOnline,
  DeviceUpdated,
} from './device.events.js';
import type { EventType } from './event.types.js';
import type { OrganizationChanged, SiteChanged } from './tenancy.events.js';
import type { UserInvited, UserLogin, UserLogout } from './user.events.js';

/** The data of each domain event that the fleet publishes. Customers subscribe to these with webhooks. */
export interface EventMap {
  'device.enrolled': DeviceEnrolled;
  'device.online': DeviceOnline;
  'device.offline': DeviceOffline;
  'device.updated': DeviceUpdated;
  'device.decommissioned': DeviceDecommissioned;
  'user.login': UserLogin;
  'user.logout': UserLogout;
  'user.invited': UserInvited;
  'organization.created': OrganizationChanged;
  'organization.updated': OrganizationChanged;
  'organization.deleted': OrganizationChanged;
  'site.created': SiteChanged;
  'site.updated': SiteChanged;
  'site.deleted': SiteChanged;
  'api_key.created': ApiKeyChanged;
  'api_key.updated': ApiKeyUpdated;
  'api_key.rotated': ApiKeyChanged;
  'api_key.revoked': ApiKeyChanged;
}

export type PublishedEventType = keyof EventMap & EventType;

/** A domain event as it is received; its type selects the type of its data. */
export type DomainEvent<Type extends PublishedEventType = PublishedEventType> = {
  [Each in Type]: Envelope<EventMap[Each], Each>;
}[Type];
