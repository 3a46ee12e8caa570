import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { ApiKeyExpiryService } from './api-key-expiry.service.js';

@Injectable()
export class ExpireApiKeysJob {
  constructor(private readonly expiry: ApiKeyExpiryService) {}

  @Job({ name: 'expire-api-keys', everyMs: 30_000 })
  run(): Promise<void> {
    return this.expiry.expireAll();
  }
}
