import { Module } from '@nestjs/common';
import { ApiKeysModule } from '../api-keys/api-keys.module.js';
import { KeyLookupRepository } from './key-lookup.repository.js';
import { KeyLookupRpc } from './key-lookup.rpc.js';
import { KeyLookupService } from './key-lookup.service.js';

@Module({
  imports: [ApiKeysModule],
  controllers: [KeyLookupRpc],
  providers: [KeyLookupService, KeyLookupRepository],
})
export class KeyLookupModule {}
