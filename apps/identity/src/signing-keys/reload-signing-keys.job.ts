import { Injectable } from '@nestjs/common';
import { Job } from '@rmm/service-kit';
import { SigningKeysService } from './signing-keys.service.js';

/** Reads the signing keys repeatedly, so that every replica knows a rotation within seconds. */
@Injectable()
export class ReloadSigningKeysJob {
  constructor(private readonly keys: SigningKeysService) {}

  @Job({ name: 'reload-signing-keys', everyMs: 5_000 })
  run(): Promise<void> {
    return this.keys.reload();
  }
}
