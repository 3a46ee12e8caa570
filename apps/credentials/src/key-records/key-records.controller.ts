import { Controller } from '@nestjs/common';
import {
  CREDENTIALS_KEYS_RECORD_USAGE,
  CREDENTIALS_KEYS_RESOLVE,
  type KeyResolveRequest,
  type KeyUsageRequest,
  type ResolvedKey,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { KeyLookup } from './key-lookup.service.js';
import { KeyUsageService } from './key-usage.service.js';

/** What the key doors of all services ask. */
@Controller()
export class KeyRecordsController {
  constructor(
    private readonly keys: KeyLookup,
    private readonly usage: KeyUsageService,
  ) {}

  @RpcHandler(CREDENTIALS_KEYS_RESOLVE)
  resolve({ keyHash }: KeyResolveRequest): Promise<ResolvedKey | null> {
    return this.keys.resolve(keyHash);
  }

  @RpcHandler(CREDENTIALS_KEYS_RECORD_USAGE)
  async recordUsage(request: KeyUsageRequest): Promise<{ recorded: number }> {
    return { recorded: await this.usage.record(request) };
  }
}
