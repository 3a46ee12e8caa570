import type { Feature } from '../feature.js';

/** What somebody does with its own account: profile, avatar, address. */
export const accountFeature: Feature = {
  controllers: [],
  providers: [],
};
