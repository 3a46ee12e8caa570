import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { CleanUpKeyUsageJob } from './clean-up-key-usage.job.js';
import { KeyUsageController } from './key-usage.controller.js';
import { KeyUsageRepository } from './key-usage.repository.js';
import { KeyUsageRpc } from './key-usage.rpc.js';
import { KeyUsageService } from './key-usage.service.js';

@Module({
  imports: [ApiKeysModule],
  controllers: [KeyUsageController, KeyUsageRpc],
  providers: [KeyUsageService, KeyUsageRepository, CleanUpKeyUsageJob],
})
export class KeyUsageModule {}
