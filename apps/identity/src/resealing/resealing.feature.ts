import type { Feature } from '../feature.js';
import { ResealingService } from './resealing.service.js';
import { SealedColumnsRepository } from './sealed-columns.repository.js';

/** Sealing again what an older key sealed. */
export const resealingFeature: Feature = {
  controllers: [],
  providers: [ResealingService, SealedColumnsRepository],
};
