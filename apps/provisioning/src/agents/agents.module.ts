import { AGENT_SOURCE } from '@rmm/access';
import { Module } from '@nestjs/common';
import { AgentRecords } from './agent-records.js';
import { AgentsController } from './agents.controller.js';
import { AgentsService } from './agents.service.js';

@Module({
  controllers: [AgentsController],
  providers: [AgentsService, AgentRecords, { provide: AGENT_SOURCE, useExisting: AgentRecords }],
})
export class AgentsModule {}
