import { RecoveryController } from './recovery.controller.js';
import { RecoveryRepository } from './recovery.repository.js';
import { RecoveryService } from './recovery.service.js';

/** Bringing back in bulk what a receiver missed. */
export const recoveryFeature = {
  controllers: [RecoveryController],
  providers: [RecoveryService, RecoveryRepository],
};
