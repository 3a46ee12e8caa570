import { AddMessagingAndDirectory1793491200000 } from './1793491200000-AddMessagingAndDirectory.js';
import { AddWebhooks1793491200001 } from './1793491200001-AddWebhooks.js';
import { AddDeliveries1793491200002 } from './1793491200002-AddDeliveries.js';
import { AddSecretOverlap1793577600000 } from './1793577600000-AddSecretOverlap.js';
import { AddAttempts1793577601000 } from './1793577601000-AddAttempts.js';
import { AddShards1793577602000 } from './1793577602000-AddShards.js';
import { AddPendingIndex1793664000000 } from './1793664000000-AddPendingIndex.js';

/** Oldest first. */
export const MIGRATIONS = [
  AddMessagingAndDirectory1793491200000,
  AddWebhooks1793491200001,
  AddDeliveries1793491200002,
  AddSecretOverlap1793577600000,
  AddAttempts1793577601000,
  AddShards1793577602000,
  AddPendingIndex1793664000000,
] as const;
