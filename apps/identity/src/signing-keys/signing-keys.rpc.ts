import { Controller } from '@nestjs/common';
import { ROTATE_SIGNING_KEY, type RotateSigningKeyReply } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { SigningKeyRotation } from './signing-key-rotation.service.js';

/** Answers operators: `./fleet rotate-signing-key`. */
@Controller()
export class SigningKeysRpc {
  constructor(private readonly rotation: SigningKeyRotation) {}

  @RpcHandler(ROTATE_SIGNING_KEY)
  rotate(): Promise<RotateSigningKeyReply> {
    return this.rotation.rotate();
  }
}
