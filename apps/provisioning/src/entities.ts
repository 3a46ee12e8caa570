import { AgentCommand } from './agent-commands/agent-command.entity.js';
import { ContactLink } from './contacts/contact-link.entity.js';
import { Contact } from './contacts/contact.entity.js';
import { DevPushChunk } from './dev-push/dev-push-chunk.entity.js';
import { DevPushFile } from './dev-push/dev-push-file.entity.js';
import { DevPush } from './dev-push/dev-push.entity.js';
import { CustomFieldDefinition } from './devices/custom-fields/definitions/custom-field-definition.entity.js';
import { DeviceState } from './devices/device-state.entity.js';
import { Device } from './devices/device.entity.js';
import { DeviceGroupMember } from './devices/groups/device-group-member.entity.js';
import { DeviceGroup } from './devices/groups/device-group.entity.js';
import { PostureCount } from './devices/posture/posture-count.entity.js';
import { DeviceProvision } from './devices/provision/device-provision.entity.js';
import { DeviceDisk } from './devices/reports/device-disk.entity.js';
import { DeviceHardware } from './devices/reports/device-hardware.entity.js';
import { DeviceNetwork } from './devices/reports/device-network.entity.js';
import { DevicePostureProduct } from './devices/reports/device-posture-product.entity.js';
import { DevicePosture } from './devices/reports/device-posture.entity.js';
import { DeviceSoftware } from './devices/reports/device-software.entity.js';
import { AgentTokenRotation } from './devices/token-rotation/agent-token-rotation.entity.js';
import { ExportRestamp } from './export/export-restamp.entity.js';
import { ExportRecord } from './export/records/export-record.entity.js';
import { ImportFileChunk } from './import-runs/files/import-file-chunk.entity.js';
import { ImportRunRow } from './import-runs/import-run-row.entity.js';
import { ImportRun } from './import-runs/import-run.entity.js';
import { ImportChange } from './import-runs/journal/import-change.entity.js';
import { OrganizationErasurePart } from './organization-erasure/organization-erasure-part.entity.js';
import { OrganizationErasure } from './organization-erasure/organization-erasure.entity.js';
import { ExternalLink } from './organizations/external-link.entity.js';
import { OrganizationCount } from './organizations/organization-count.entity.js';
import { OrganizationSecurityCopy } from './organizations/organization-security.entity.js';
import { Organization } from './organizations/organization.entity.js';
import { PartnerCount } from './partners/partner-count.entity.js';
import { PsaProposal } from './psa/proposals/psa-proposal.entity.js';
import { PsaConnection } from './psa/psa-connection.entity.js';
import { PsaSync } from './psa/sync/psa-sync.entity.js';
import { ScriptVersion } from './scripts/script-version.entity.js';
import { Script } from './scripts/script.entity.js';
import { SiteCount } from './sites/site-count.entity.js';
import { Site } from './sites/site.entity.js';

/** Every entity of the service. */
export const ENTITIES = [
  Organization,
  OrganizationSecurityCopy,
  OrganizationCount,
  OrganizationErasure,
  OrganizationErasurePart,
  ExternalLink,
  PsaConnection,
  PsaSync,
  PsaProposal,
  PartnerCount,
  Site,
  SiteCount,
  Contact,
  ContactLink,
  ImportRun,
  ImportFileChunk,
  ImportRunRow,
  ImportChange,
  Device,
  DeviceState,
  DeviceHardware,
  DeviceDisk,
  DeviceNetwork,
  DeviceSoftware,
  DevicePosture,
  DevicePostureProduct,
  PostureCount,
  DeviceGroup,
  DeviceGroupMember,
  CustomFieldDefinition,
  DeviceProvision,
  AgentTokenRotation,
  AgentCommand,
  DevPush,
  DevPushFile,
  DevPushChunk,
  Script,
  ScriptVersion,
  ExportRecord,
  ExportRestamp,
];
