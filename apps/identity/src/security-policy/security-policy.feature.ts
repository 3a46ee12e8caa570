import type { Feature } from '../feature.js';

/** Security policies of partners and organisations. */
export const securityPolicyFeature: Feature = {
  controllers: [],
  providers: [],
};
