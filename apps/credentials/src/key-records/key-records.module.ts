import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { KeyLookup } from './key-lookup.service.js';
import { KeyRecordsController } from './key-records.controller.js';
import { KeyUsageService } from './key-usage.service.js';
import { KeyUsageUpkeep } from './key-usage-upkeep.js';

@Module({
  imports: [ApiKeysModule],
  controllers: [KeyRecordsController],
  providers: [KeyLookup, KeyUsageService, KeyUsageUpkeep],
})
export class KeyRecordsModule {}
