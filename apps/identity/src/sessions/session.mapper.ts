import { deviceName } from './device-name.js';
import type { SessionListItemDto } from './dto/session-list-item.dto.js';
import type { ListedSession } from './sessions.repository.js';

/** @param currentId  id of the session of the request */
export const toSessionListItem = (session: ListedSession, currentId: string): SessionListItemDto => ({
  id: session.id,
  device: deviceName(session.userAgent),
  ipAddress: session.ipAddress,
  userAgent: session.userAgent,
  method: session.method,
  mfa: session.mfa,
  createdAt: session.createdAt.toISOString(),
  lastUsedAt: session.lastUsedAt.toISOString(),
  expiresAt: session.expiresAt.toISOString(),
  current: session.id === currentId,
  membership: { scope: session.scope, partnerId: session.partnerId, orgId: session.orgId },
});
