import { Module } from '@nestjs/common';
import { AgentReleasesController } from './agent-releases.controller.js';
import { AgentReleasesService } from './agent-releases.service.js';
import { InstallScriptsService } from './install-scripts.service.js';

@Module({
  controllers: [AgentReleasesController],
  providers: [AgentReleasesService, InstallScriptsService],
})
export class AgentReleasesModule {}
