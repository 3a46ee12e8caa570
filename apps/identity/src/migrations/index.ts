import { CreateIdentity1767225600000 } from './1767225600000-create-identity.js';

/** Oldest first. */
export const MIGRATIONS = [CreateIdentity1767225600000];
