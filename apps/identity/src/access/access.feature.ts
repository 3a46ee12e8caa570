import { ACCESS_SOURCE } from '@rmm/access';
import type { Feature } from '../feature.js';
import { AccessChanges } from './access-changes.js';
import { DatabaseAccessSource } from './access-source.js';
import { AccessRpc } from './access.rpc.js';
import { OrganizationAccess } from './organization-access.js';

/** Who may do what, for every service. */
export const accessFeature: Feature = {
  controllers: [AccessRpc],
  providers: [
    AccessChanges,
    DatabaseAccessSource,
    OrganizationAccess,
    { provide: ACCESS_SOURCE, useExisting: DatabaseAccessSource },
  ],
};
