import type { Feature } from '../feature.js';
import { PartnerChangesService } from './partner-changes.service.js';
import { PartnerMaker } from './partner-maker.js';
import { PartnersController } from './partners.controller.js';
import { PartnersService } from './partners.service.js';

/** Partner records. */
export const partnersFeature: Feature = {
  controllers: [PartnersController],
  providers: [PartnerChangesService, PartnerMaker, PartnersService],
};
