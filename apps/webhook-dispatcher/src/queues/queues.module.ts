import { Module } from '@nestjs/common';
import { BackgroundModule } from '../background/background.module.js';
import { QueuesController } from './queues.controller.js';
import { QueuesRepository } from './queues.repository.js';
import { QueuesService } from './queues.service.js';

@Module({
  imports: [BackgroundModule],
  controllers: [QueuesController],
  providers: [QueuesRepository, QueuesService],
})
export class QueuesModule {}
