import { Controller } from '@nestjs/common';
import { MessagePattern, Payload } from '@nestjs/microservices';
import {
  CREDENTIALS_KEYS_RECORD_USAGE,
  CREDENTIALS_KEYS_RESOLVE,
  type KeyResolveRequest,
  type KeyUsageRequest,
  type ResolvedKey,
} from '@rmm/contracts';
import { KeyLookup } from './key-lookup.service.js';
import { KeyUsageService } from './key-usage.service.js';

/** What the key doors of all services ask. */
@Controller()
export class KeyRecordsController {
  constructor(
    private readonly keys: KeyLookup,
    private readonly usage: KeyUsageService,
  ) {}

  @MessagePattern(CREDENTIALS_KEYS_RESOLVE.subject)
  resolve(@Payload() { keyHash }: KeyResolveRequest): Promise<ResolvedKey | null> {
    return this.keys.resolve(keyHash);
  }

  @MessagePattern(CREDENTIALS_KEYS_RECORD_USAGE.subject)
  async recordUsage(@Payload() request: KeyUsageRequest): Promise<{ recorded: number }> {
    return { recorded: await this.usage.record(request) };
  }
}
