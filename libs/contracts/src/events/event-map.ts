import type { Envelope } from '../envelope.js';
import type {
  DeviceDecommissioned,
  DeviceEnrolled,
  DeviceOffline,
  DeviceOnline,
  DeviceUpdated,
} from './device.events.js';
import type { EventType } from './event.types.js';
import type { OrganizationChanged, SiteChanged } from './tenancy.events.js';
import type { UserLogin, UserLogout } from './user-session.js';

/** The data of each domain event that the fleet publishes. Customers subscribe to these with webhooks. */
export interface EventMap {
  'device.enrolled': DeviceEnrolled;
  'device.online': DeviceOnline;
  'device.offline': DeviceOffline;
  'device.updated': DeviceUpdated;
  'device.decommissioned': DeviceDecommissioned;
  'user.login': UserLogin;
  'user.logout': UserLogout;
  'organization.created': OrganizationChanged;
  'organization.updated': OrganizationChanged;
  'organization.deleted': OrganizationChanged;
  'site.created': SiteChanged;
  'site.updated': SiteChanged;
  'site.deleted': SiteChanged;
}

export type PublishedEventType = keyof EventMap & EventType;

/** A domain event as it is received; its type selects the type of its data. */
export type DomainEvent<Type extends PublishedEventType = PublishedEventType> = {
  [Each in Type]: Envelope<EventMap[Each], Each>;
}[Type];
