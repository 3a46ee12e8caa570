import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

/**
 * One lock for the roles of a partner and of its organizations, until the transaction ends. Changes happen one after the
 * other, so that what one was judged by still holds when it is stored: two changes of parents never close a circle
 * together. Who gives a role away shares it: meanwhile no role grows or goes.
 */
@Injectable()
export class RoleLock {
  async own(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock(hashtextextended('roles:' || $1, 0))`, [partnerId]);
  }

  async share(tx: SqlExecutor, partnerId: string): Promise<void> {
    await tx.query(`select pg_advisory_xact_lock_shared(hashtextextended('roles:' || $1, 0))`, [partnerId]);
  }
}
