import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';
import { AddWebhookDescription1769904000000 } from './1769904000000-AddWebhookDescription.js';

/** Oldest first; listed as classes, since a build keeps the output of a deleted file. */
export const MIGRATIONS = [InitialSchema1767225600000, AddWebhookDescription1769904000000];
