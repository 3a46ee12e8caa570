import { AddKeys1767225600000 } from './1767225600000-AddKeys.js';

/** In the order they run; listed as classes, since a build never deletes the output of a removed file. */
export const MIGRATIONS = [AddKeys1767225600000];
