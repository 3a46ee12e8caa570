import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { SessionsRepository, type RevokedReason } from './sessions.repository.js';

/** Retires every session of somebody: the authentication epoch moves and every family ends. @see CONTRACT.md 2.5 */
@Injectable()
export class SessionEnder {
  constructor(private readonly sessions: SessionsRepository) {}

  /** Under the worker login, in the transaction of the change that calls for it. @returns how many were alive */
  async endAll(tx: SqlExecutor, userId: string, reason: RevokedReason): Promise<number> {
    await tx.query('update user_account set auth_epoch = auth_epoch + 1, updated_at = now() where id = $1', [userId]);
    return this.sessions.revokeAll(tx, userId, reason);
  }
}
