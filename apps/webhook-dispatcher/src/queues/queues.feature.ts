import { QueuesController } from './queues.controller.js';
import { QueuesService } from './queues.service.js';

/** The operator's view of what waits. */
export const queuesFeature = {
  controllers: [QueuesController],
  providers: [QueuesService],
};
