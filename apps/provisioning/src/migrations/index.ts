import { AddMessaging1767225599000 } from './1767225599000-AddMessaging.js';
import { AddTenancy1767225600000 } from './1767225600000-AddTenancy.js';
import { AddDevices1767225601000 } from './1767225601000-AddDevices.js';
import { AddOrganizationSecurity1767312002000 } from './1767312002000-AddOrganizationSecurity.js';

/** Oldest first. */
export const MIGRATIONS = [
  AddMessaging1767225599000,
  AddTenancy1767225600000,
  AddDevices1767225601000,
  AddOrganizationSecurity1767312002000,
];
