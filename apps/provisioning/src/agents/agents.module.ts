import { Module } from '@nestjs/common';
import { AGENT_SOURCE } from '@rmm/access';
import { AgentChangesConsumer } from './agent-changes.consumer.js';
import { AgentsController } from './agents.controller.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';
import { HeartbeatWriter } from './heartbeat-writer.service.js';

@Module({
  controllers: [AgentsController],
  providers: [
    AgentsService,
    AgentsRepository,
    AgentChangesConsumer,
    HeartbeatWriter,
    { provide: AGENT_SOURCE, useExisting: AgentsRepository },
  ],
})
export class AgentsModule {}
