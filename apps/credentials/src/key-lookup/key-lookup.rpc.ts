import { Controller } from '@nestjs/common';
import { CREDENTIALS_KEYS_RESOLVE, type KeyResolveRequest, type ResolvedKey } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { KeyLookupService } from './key-lookup.service.js';

/** Serves the key authenticators of all services. */
@Controller()
export class KeyLookupRpc {
  constructor(private readonly keys: KeyLookupService) {}

  @RpcHandler(CREDENTIALS_KEYS_RESOLVE)
  resolve({ keyHash }: KeyResolveRequest): Promise<ResolvedKey | null> {
    return this.keys.resolve(keyHash);
  }
}
