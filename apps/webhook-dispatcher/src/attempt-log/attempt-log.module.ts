import { Module } from '@nestjs/common';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { AttemptLogController } from './attempt-log.controller.js';
import { AttemptLogRepository } from './attempt-log.repository.js';
import { AttemptLogService } from './attempt-log.service.js';
import { AttemptMapper } from './attempt.mapper.js';
import { RequestShapesRepository } from './request-shapes.repository.js';

@Module({
  imports: [WebhooksModule],
  controllers: [AttemptLogController],
  providers: [AttemptLogRepository, AttemptLogService, AttemptMapper, RequestShapesRepository],
  exports: [AttemptLogService, RequestShapesRepository],
})
export class AttemptLogModule {}
