import { Controller } from '@nestjs/common';
import { MessagePattern } from '@nestjs/microservices';
import { ROTATE_SIGNING_KEY, type RotateSigningKeyReply } from '@rmm/contracts';
import { SigningKeyRotation } from './signing-key-rotation.service.js';

/** Answers operators: `./fleet rotate-signing-key`. */
@Controller()
export class SigningKeysRpc {
  constructor(private readonly rotation: SigningKeyRotation) {}

  @MessagePattern(ROTATE_SIGNING_KEY.subject)
  rotate(): Promise<RotateSigningKeyReply> {
    return this.rotation.rotate();
  }
}
