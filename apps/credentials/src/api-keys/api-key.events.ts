import type { Actor, ApiKeyChanged, ApiKeyField } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import type { ApiKey } from './api-key.entity.js';

type EventKey = Pick<
  ApiKey,
  'id' | 'partnerId' | 'orgId' | 'name' | 'keyPrefix' | 'scopes' | 'expiresAt' | 'principalId' | 'createdBy'
>;

/** Lists the fields one by one, so that an event never contains a hash of the row. */
const toApiKeyChanged = (key: EventKey): ApiKeyChanged => ({
  apiKeyId: key.id,
  name: key.name,
  keyPrefix: key.keyPrefix,
  scopes: key.scopes,
  expiresAt: key.expiresAt?.toISOString() ?? null,
  principalId: key.principalId,
  createdBy: key.createdBy,
});

const ownerOf = ({ id: aggregateId, partnerId, orgId }: EventKey) => ({ aggregateId, partnerId, orgId });

/** Returns the event that webhooks get of a key that was created, rotated or revoked. */
export function apiKeyEvent(
  type: 'api_key.created' | 'api_key.rotated' | 'api_key.revoked',
  key: EventKey,
  actor: Actor,
): OutgoingMessage {
  return { stream: 'events', type, ...ownerOf(key), actor, data: toApiKeyChanged(key) };
}

/** Returns the event that webhooks get of a key whose fields were changed. */
export function apiKeyUpdated(key: EventKey, fields: ApiKeyField[], actor: Actor): OutgoingMessage {
  const data = { ...toApiKeyChanged(key), fields };
  return { stream: 'events', type: 'api_key.updated', ...ownerOf(key), actor, data };
}
