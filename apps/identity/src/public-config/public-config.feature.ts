import type { Feature } from '../feature.js';
import { PublicConfigController } from './public-config.controller.js';

/** What clients read before anybody signs in. */
export const publicConfigFeature: Feature = {
  controllers: [PublicConfigController],
  providers: [],
};
