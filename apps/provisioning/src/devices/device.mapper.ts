import type { DeviceView } from './devices.repository.js';
import type { DeviceDto } from './dto/device.dto.js';

export const toDeviceDto = (row: DeviceView): DeviceDto => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  agentId: row.agentId,
  hostname: row.hostname,
  displayName: row.displayName,
  osType: row.osType,
  deviceRole: row.deviceRole,
  osVersion: row.osVersion,
  architecture: row.architecture,
  agentVersion: row.agentVersion,
  status: row.status,
  lastSeenAt: row.lastSeenAt?.toISOString() ?? null,
  enrolledAt: row.enrolledAt?.toISOString() ?? null,
  tags: row.tags,
  groupIds: row.groupIds,
  customFields: row.customFields ? { ...row.customFieldDefaults, ...row.customFields } : null,
  hardware: row.hardware ?? null,
  metrics: row.metrics ?? null,
});
