import type { Feature } from '../feature.js';

/** Forgotten passwords. */
export const passwordsFeature: Feature = {
  controllers: [],
  providers: [],
};
