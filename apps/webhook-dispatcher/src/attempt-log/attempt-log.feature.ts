import { AttemptLogController } from './attempt-log.controller.js';
import { AttemptLogRepository } from './attempt-log.repository.js';
import { AttemptLogService } from './attempt-log.service.js';
import { RequestShapesRepository } from './request-shapes.repository.js';

/** What was sent and answered, attempt by attempt. */
export const attemptLogFeature = {
  controllers: [AttemptLogController],
  providers: [AttemptLogService, AttemptLogRepository, RequestShapesRepository],
};
