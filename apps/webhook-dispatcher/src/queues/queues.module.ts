import { Module } from '@nestjs/common';
import { BackgroundQueuesModule } from '../background-queues/background-queues.module.js';
import { QueuesController } from './queues.controller.js';
import { QueuesRepository } from './queues.repository.js';
import { QueuesService } from './queues.service.js';

@Module({
  imports: [BackgroundQueuesModule],
  controllers: [QueuesController],
  providers: [QueuesRepository, QueuesService],
})
export class QueuesModule {}
