import type { Feature } from '../feature.js';
import { BootstrapAdmin } from './bootstrap-admin.js';
import { FirstStart } from './first-start.js';

/** First start. */
export const bootstrapFeature: Feature = {
  controllers: [],
  providers: [BootstrapAdmin, FirstStart],
};
