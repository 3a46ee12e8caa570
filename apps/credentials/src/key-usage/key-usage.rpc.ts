import { Controller } from '@nestjs/common';
import { CREDENTIALS_KEYS_RECORD_USAGE, type KeyUsageRequest } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { KeyUsageService } from './key-usage.service.js';

/** Receives the uses that the key authenticators of all services counted. */
@Controller()
export class KeyUsageRpc {
  constructor(private readonly usage: KeyUsageService) {}

  @RpcHandler(CREDENTIALS_KEYS_RECORD_USAGE)
  async recordUsage(request: KeyUsageRequest): Promise<{ recorded: number }> {
    return { recorded: await this.usage.record(request) };
  }
}
