import { InitialSchema1767225600000 } from './1767225600000-InitialSchema.js';

/** Oldest first. */
export const MIGRATIONS = [InitialSchema1767225600000];
