import { Module } from '@nestjs/common';
import { ApiKeyChanges } from './api-key-changes.js';
import { ApiKeyExpiry } from './api-key-expiry.js';
import { ApiKeyRotationService } from './api-key-rotation.service.js';
import { ApiKeyUsageService } from './api-key-usage.service.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysRepository } from './api-keys.repository.js';
import { ApiKeysService } from './api-keys.service.js';
import { CreatorAuthority } from './creator-authority.js';
import { ExpiryReminders } from './expiry-reminders.js';
import { RotationCeiling } from './rotation-ceiling.js';

@Module({
  controllers: [ApiKeysController],
  providers: [
    ApiKeysService,
    ApiKeyRotationService,
    ApiKeyUsageService,
    ApiKeysRepository,
    ApiKeyChanges,
    ApiKeyExpiry,
    CreatorAuthority,
    ExpiryReminders,
    RotationCeiling,
  ],
  exports: [ApiKeysService, ApiKeysRepository, ApiKeyChanges, ApiKeyExpiry, CreatorAuthority],
})
export class ApiKeysModule {}
