import { AddOutbox1767225600000 } from './1767225600000-AddOutbox.js';

/** Oldest first. */
export const MIGRATIONS = [AddOutbox1767225600000];
