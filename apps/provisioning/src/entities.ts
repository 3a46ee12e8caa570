import { DeviceState } from './devices/device-state.entity.js';
import { Device } from './devices/device.entity.js';
import { DeviceGroupMember } from './devices/groups/device-group-member.entity.js';
import { DeviceGroup } from './devices/groups/device-group.entity.js';
import { DeviceDisk } from './devices/reports/device-disk.entity.js';
import { DeviceHardware } from './devices/reports/device-hardware.entity.js';
import { DeviceNetwork } from './devices/reports/device-network.entity.js';
import { DevicePostureProduct } from './devices/reports/device-posture-product.entity.js';
import { DevicePosture } from './devices/reports/device-posture.entity.js';
import { DeviceSoftware } from './devices/reports/device-software.entity.js';
import { ExternalLink } from './organizations/external-link.entity.js';
import { OrganizationSecurityCopy } from './organizations/organization-security.entity.js';
import { Organization } from './organizations/organization.entity.js';
import { Site } from './sites/site.entity.js';

/** Every entity of the service. */
export const ENTITIES = [
  Organization,
  OrganizationSecurityCopy,
  ExternalLink,
  Site,
  Device,
  DeviceState,
  DeviceHardware,
  DeviceDisk,
  DeviceNetwork,
  DeviceSoftware,
  DevicePosture,
  DevicePostureProduct,
  DeviceGroup,
  DeviceGroupMember,
];
