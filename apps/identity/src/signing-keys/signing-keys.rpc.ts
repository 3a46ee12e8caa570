import { Controller } from '@nestjs/common';
import {
  ROTATE_SIGNING_KEY,
  WITHDRAW_SIGNING_KEY,
  type RotateSigningKeyReply,
  type WithdrawSigningKeyReply,
  type WithdrawSigningKeyRequest,
} from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { SigningKeysService } from './signing-keys.service.js';

/** Requests of operators: `./fleet rotate-signing-key` and `./fleet withdraw-signing-key`. */
@Controller()
export class SigningKeysRpc {
  constructor(private readonly keys: SigningKeysService) {}

  @RpcHandler(ROTATE_SIGNING_KEY)
  rotate(): Promise<RotateSigningKeyReply> {
    return this.keys.rotate();
  }

  @RpcHandler(WITHDRAW_SIGNING_KEY)
  withdraw({ kid }: WithdrawSigningKeyRequest): Promise<WithdrawSigningKeyReply> {
    return this.keys.withdraw(kid);
  }
}
