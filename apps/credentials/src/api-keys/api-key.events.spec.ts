import { randomBytes, randomUUID } from 'node:crypto';
import { eventDataSchema } from '@rmm/contracts';
import type { ApiKey } from './api-key.entity.js';
import { apiKeyEvent, apiKeyUpdated } from './api-key.events.js';

describe('events of API keys', () => {
  const key = {
    id: randomUUID(),
    partnerId: randomUUID(),
    orgId: randomUUID(),
    name: 'Reports',
    keyPrefix: 'svc_12345678',
    keyHash: randomBytes(32),
    previousKeyHash: randomBytes(32),
    scopes: ['devices:read'],
    expiresAt: new Date(Date.UTC(2030, 0, 1)),
    principalId: null,
    createdBy: randomUUID(),
  } as ApiKey;
  const actor = { type: 'user', id: key.createdBy } as const;
  const owner = { stream: 'events', aggregateId: key.id, partnerId: key.partnerId, orgId: key.orgId, actor };
  const shown = {
    apiKeyId: key.id,
    name: 'Reports',
    keyPrefix: 'svc_12345678',
    scopes: ['devices:read'],
    expiresAt: '2030-01-01T00:00:00.000Z',
    principalId: null,
    createdBy: key.createdBy,
  };

  it.each(['api_key.created', 'api_key.rotated', 'api_key.revoked'] as const)(
    '%s has the documented fields and no hash',
    (type) => {
      expect(apiKeyEvent(type, key, actor)).toEqual({ ...owner, type, data: shown });
      expect(eventDataSchema(type).parse(shown)).toEqual(shown);
    },
  );

  it('api_key.updated names the changed fields', () => {
    const data = { ...shown, expiresAt: null, fields: ['expiresAt', 'rateLimit'] };
    const event = apiKeyUpdated({ ...key, expiresAt: null }, ['expiresAt', 'rateLimit'], actor);
    expect(event).toEqual({ ...owner, type: 'api_key.updated', data });
    expect(eventDataSchema('api_key.updated').parse(data)).toEqual(data);
  });
});
