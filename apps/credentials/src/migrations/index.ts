import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';
import { AddApiKeyDescription1769904000000 } from './1769904000000-AddApiKeyDescription.js';
import { AddIdempotencyRecords1795437000000 } from './1795437000000-AddIdempotencyRecords.js';

/** Oldest first; listed as classes, since a build keeps the output of a deleted file. */
export const MIGRATIONS = [
  InitialSchema1767225600000,
  AddApiKeyDescription1769904000000,
  AddIdempotencyRecords1795437000000,
];
