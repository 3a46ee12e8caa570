import type { DeviceGroup } from './device-group.entity.js';
import type { DeviceGroupDto } from './dto/device-group.dto.js';

export const toDeviceGroupDto = (row: DeviceGroup, deviceCount: number): DeviceGroupDto => ({
  id: row.id,
  orgId: row.orgId,
  siteId: row.siteId,
  name: row.name,
  description: row.description,
  deviceCount,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
});
