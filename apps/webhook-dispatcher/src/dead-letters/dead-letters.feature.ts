import { DeadLettersController } from './dead-letters.controller.js';
import { DeadLettersRepository } from './dead-letters.repository.js';
import { DeadLettersService } from './dead-letters.service.js';

/** Deliveries that used up their retries: list, retry, drop. */
export const deadLettersFeature = {
  controllers: [DeadLettersController],
  providers: [DeadLettersService, DeadLettersRepository],
};
