import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';
import { ManageSsoIdentities1771200000000 } from './1771200000000-ManageSsoIdentities.js';
import { IndexScimUserSettings1796025600000 } from './1796025600000-IndexScimUserSettings.js';
import { IndexKnownDevices1796025660000 } from './1796025660000-IndexKnownDevices.js';

/** Oldest first; listed as classes, since a build keeps the output of a deleted file. */
export const MIGRATIONS = [
  InitialSchema1767225600000,
  ManageSsoIdentities1771200000000,
  IndexScimUserSettings1796025600000,
  IndexKnownDevices1796025660000,
];
