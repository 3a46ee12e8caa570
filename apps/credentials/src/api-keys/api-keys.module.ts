import { Module } from '@nestjs/common';
import { KeyLimitsModule } from '../key-limits/key-limits.module.js';
import { ApiKeyExpiryRepository } from './api-key-expiry.repository.js';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';
import { ApiKeyLifecycleService } from './api-key-lifecycle.service.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { ApiKeysService } from './api-keys.service.js';
import { ExpireApiKeysJob } from './expire-api-keys.job.js';
import { KeyCreatorPolicy } from './key-creator.policy.js';
import { SendExpiryRemindersJob } from './send-expiry-reminders.job.js';

@Module({
  imports: [KeyLimitsModule],
  controllers: [ApiKeysController],
  providers: [
    ApiKeysService,
    ApiKeysRepository,
    ApiKeyLifecycleService,
    ApiKeyExpiryService,
    ApiKeyExpiryRepository,
    KeyCreatorPolicy,
    ExpireApiKeysJob,
    SendExpiryRemindersJob,
  ],
  exports: [ApiKeysRepository, ApiKeyExpiryService, KeyCreatorPolicy],
})
export class ApiKeysModule {}
