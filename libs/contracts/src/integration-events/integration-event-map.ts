import type { Envelope } from '../envelope.js';
import type { ServiceName } from '../services.js';
import type { OrganizationErased, OrganizationsChanged, OrganizationState } from './organization.events.js';
import type { PartnerState } from './partner.events.js';
import type { OrganizationSecurityState } from './security-policy.events.js';
import type { SiteState } from './site.events.js';
import type { UserMfaReset } from './user.events.js';

/** The data of each integration event: what one service publishes for the others about the data it owns. */
export interface IntegrationEventMap {
  'partner.created': PartnerState;
  'partner.updated': PartnerState;
  'user.mfa_reset': UserMfaReset;
  'organization.created': OrganizationState;
  'organization.updated': OrganizationState;
  'organization.deleted': OrganizationState;
  'organizations.changed': OrganizationsChanged;
  'organization.erased': OrganizationErased;
  'organization.security_policy_updated': OrganizationSecurityState;
  'site.deleted': SiteState;
}
export type IntegrationEventType = keyof IntegrationEventMap;

/** An integration event as it is received; its type selects the type of its data. */
export type IntegrationEvent<Type extends IntegrationEventType = IntegrationEventType> = {
  [Each in Type]: Envelope<IntegrationEventMap[Each], Each>;
}[Type];

/** The service that owns the data and publishes the event. */
export const INTEGRATION_EVENT_PUBLISHERS = {
  'partner.created': 'identity',
  'partner.updated': 'identity',
  'user.mfa_reset': 'identity',
  'organization.created': 'provisioning',
  'organization.updated': 'provisioning',
  'organization.deleted': 'provisioning',
  'organizations.changed': 'provisioning',
  'organization.erased': 'provisioning',
  'organization.security_policy_updated': 'identity',
  'site.deleted': 'provisioning',
} as const satisfies Record<IntegrationEventType, ServiceName>;
