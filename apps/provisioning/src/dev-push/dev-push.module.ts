import { Module } from '@nestjs/common';
import { AgentCommandsModule } from '../agent-commands/agent-commands.module.js';
import { DevicesModule } from '../devices/devices.module.js';
import { DevPushFilesRepository } from './dev-push-files.repository.js';
import { DevPushUploadService } from './dev-push-upload.service.js';
import { DevPushController } from './dev-push.controller.js';
import { DevPushesRepository } from './dev-pushes.repository.js';
import { DevPushesService } from './dev-pushes.service.js';
import { PurgeDevPushesJob } from './purge-dev-pushes.job.js';

@Module({
  imports: [AgentCommandsModule, DevicesModule],
  controllers: [DevPushController],
  providers: [DevPushesService, DevPushUploadService, DevPushesRepository, DevPushFilesRepository, PurgeDevPushesJob],
})
export class DevPushModule {}
