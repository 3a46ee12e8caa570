import { Controller } from '@nestjs/common';
import { ROTATE_SIGNING_KEY, type RotateSigningKeyReply } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { SigningKeysService } from './signing-keys.service.js';

/** Requests of operators: `./fleet rotate-signing-key`. */
@Controller()
export class SigningKeysRpc {
  constructor(private readonly keys: SigningKeysService) {}

  @RpcHandler(ROTATE_SIGNING_KEY)
  rotate(): Promise<RotateSigningKeyReply> {
    return this.keys.rotate();
  }
}
