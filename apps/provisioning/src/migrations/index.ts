import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';
import { AddReportKeys1771200000000 } from './1771200000000-AddReportKeys.js';
import { AddPostureCounts1771201000000 } from './1771201000000-AddPostureCounts.js';
import { AddDeviceManagement1771286400000 } from './1771286400000-AddDeviceManagement.js';
import { AddScripts1795420815000 } from './1795420815000-AddScripts.js';
import { AddAgentCommands1795421100000 } from './1795421100000-AddAgentCommands.js';
import { AddPsaSyncMail1795421200000 } from './1795421200000-AddPsaSyncMail.js';
import { AddResponseExpiry1795437000000 } from './1795437000000-AddResponseExpiry.js';
import { AddExportRecords1795437100000 } from './1795437100000-AddExportRecords.js';
import { FillExportRecords1795437200000 } from './1795437200000-FillExportRecords.js';
import { DropUnreadImportIndexes1795950000000 } from './1795950000000-DropUnreadImportIndexes.js';

/** Oldest first. */
export const MIGRATIONS = [
  InitialSchema1767225600000,
  AddReportKeys1771200000000,
  AddPostureCounts1771201000000,
  AddDeviceManagement1771286400000,
  AddScripts1795420815000,
  AddAgentCommands1795421100000,
  AddPsaSyncMail1795421200000,
  AddResponseExpiry1795437000000,
  AddExportRecords1795437100000,
  FillExportRecords1795437200000,
  DropUnreadImportIndexes1795950000000,
];
