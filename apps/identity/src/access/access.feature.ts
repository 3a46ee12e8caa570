import { ACCESS_SOURCE } from '@rmm/access';
import type { Feature } from '../feature.js';
import { AccessChanges } from './access-changes.js';
import { DatabaseAccessSource } from './access-source.js';
import { AccessRpc } from './access.rpc.js';

/** Who may do what, for every service. */
export const accessFeature: Feature = {
  controllers: [AccessRpc],
  providers: [AccessChanges, DatabaseAccessSource, { provide: ACCESS_SOURCE, useExisting: DatabaseAccessSource }],
};
