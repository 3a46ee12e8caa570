import type { EventMap } from './event-map.js';

const deviceId = '6f1c9a52-3a0e-4f1b-9d55-0c4b8f1f2a01';
const hostname = 'till-1';
const userId = '1b0d6f1e-52f3-4c63-8a57-6f2f0f3f7c10';
const email = 'tess@acme.example';
const organization = {
  organizationId: '8a4d4a3b-5f0e-4f7c-b1a7-0d5f1c9f2e11',
  name: 'Acme',
  slug: 'acme',
  status: 'active',
} as const;
const site = { siteId: '9a3f5c0e-7d1b-4f5e-8d02-2f6f1b7c9e02', name: 'Headquarters' };
const apiKey = {
  apiKeyId: '4c7e1f0a-9b2d-4e6a-8f31-7d5a2c9b0e04',
  name: 'Reports',
  keyPrefix: 'svc_Ab12Cd34',
  scopes: ['devices:read'],
  expiresAt: '2027-11-20T00:00:00.000Z',
  principalId: null,
  createdBy: userId,
};

/** Data of each event that the fleet publishes, as documents show it. */
export const EVENT_SAMPLES: { readonly [Type in keyof EventMap]: EventMap[Type] } = {
  'device.enrolled': {
    deviceId,
    hostname,
    osType: 'windows',
    siteId: '9a3f5c0e-7d1b-4f5e-8d02-2f6f1b7c9e02',
    enrollmentKeyId: 'c2d6a3f4-0e7b-4b7e-9a4e-5d1c3b2a1f03',
    agentVersion: '1.4.0',
  },
  'device.online': { deviceId, hostname, agentVersion: '1.4.0', status: 'online' },
  'device.offline': { deviceId, hostname, displayName: 'Till 1', lastSeenAt: '2026-11-20T09:55:00.000Z' },
  'device.updated': { deviceId, hostname, fields: ['tags'], tags: ['pos', 'ground-floor'] },
  'device.decommissioned': { deviceId, hostname, decommissionedBy: userId },
  'user.login': { userId, email, mfa: true, method: 'passkey' },
  'user.logout': { userId, email },
  'user.invited': {
    userId: '5e2b8c1d-6a4f-4d3b-9c70-1f8e7a6b5d05',
    email: 'robin@acme.example',
    name: 'Robin Vale',
    roleId: '2d9c4b7a-1e5f-4a8b-b630-8c7d6e5f4a06',
    invitedBy: userId,
  },
  'organization.created': organization,
  'organization.updated': { ...organization, status: 'suspended' },
  'organization.deleted': organization,
  'site.created': site,
  'site.updated': { ...site, name: 'Head office' },
  'site.deleted': site,
  'api_key.created': apiKey,
  'api_key.updated': { ...apiKey, name: 'Monthly reports', fields: ['name'] },
  'api_key.rotated': { ...apiKey, keyPrefix: 'svc_Ef56Gh78' },
  'api_key.revoked': apiKey,
};
