import { Module } from '@nestjs/common';
import { AGENT_SOURCE } from '@rmm/access';
import { AgentCommandsModule } from '../agent-commands/agent-commands.module.js';
import { AgentTokenRotationController } from '../devices/token-rotation/agent-token-rotation.controller.js';
import { AgentTokenRotationService } from '../devices/token-rotation/agent-token-rotation.service.js';
import { AgentTokenRotationsRepository } from '../devices/token-rotation/agent-token-rotations.repository.js';
import { AgentChangesConsumer } from './agent-changes.consumer.js';
import { AgentsController } from './agents.controller.js';
import { AgentsRepository } from './agents.repository.js';
import { AgentsService } from './agents.service.js';
import { HeartbeatWriter } from './heartbeat-writer.service.js';
import { ReportsController } from './reports/reports.controller.js';
import { ReportsRepository } from './reports/reports.repository.js';
import { ReportsService } from './reports/reports.service.js';

@Module({
  imports: [AgentCommandsModule],
  controllers: [AgentsController, ReportsController, AgentTokenRotationController],
  providers: [
    AgentsService,
    AgentsRepository,
    AgentTokenRotationService,
    AgentTokenRotationsRepository,
    AgentChangesConsumer,
    HeartbeatWriter,
    ReportsService,
    ReportsRepository,
    { provide: AGENT_SOURCE, useExisting: AgentTokenRotationService },
  ],
})
export class AgentsModule {}
