import { Module } from '@nestjs/common';
import { KeyRing } from '@rmm/secrets';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { AgentCommandsRepository } from './agent-commands.repository.js';
import { AgentCommandsService } from './agent-commands.service.js';
import { PurgeAgentCommandsJob } from './purge-agent-commands.job.js';

@Module({
  providers: [
    AgentCommandsService,
    AgentCommandsRepository,
    PurgeAgentCommandsJob,
    {
      provide: KeyRing,
      inject: [PROVISIONING_CONFIG],
      useFactory: ({ secrets }: ProvisioningConfig) => KeyRing.fromConfig(secrets),
    },
  ],
  exports: [AgentCommandsService],
})
export class AgentCommandsModule {}
