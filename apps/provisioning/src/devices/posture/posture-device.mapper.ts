import type { PostureDeviceDto } from './dto/posture-devices.dto.js';
import type { ProductDevice } from './posture.repository.js';

export const toPostureDeviceDto = (row: ProductDevice): PostureDeviceDto => ({
  id: row.deviceId,
  orgId: row.orgId,
  siteId: row.siteId,
  hostname: row.hostname,
  displayName: row.displayName,
  status: row.deviceStatus,
  osType: row.osType,
  lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
  collectedAt: row.collectedAt.toISOString(),
  detectionStatus: row.status,
  detectionVersion: row.version,
});
