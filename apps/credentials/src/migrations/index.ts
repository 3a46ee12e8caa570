import { AddKeys1767225600000 } from './1767225600000-AddKeys.js';
import { CompleteKeys1767312000000 } from './1767312000000-CompleteKeys.js';

/** In the order they run; listed as classes, since a build never deletes the output of a removed file. */
export const MIGRATIONS = [AddKeys1767225600000, CompleteKeys1767312000000];
