import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

/** A link is good once, for an hour, and only while it is the newest of an active account with a password. */
const GOOD = `t.purpose = 'password_reset' and t.used_at is null and t.expires_at > now()
  and t.epoch = u.reset_epoch and u.status = 'active' and u.password_hash is not null`;

/** Links that set a new password, under the worker login. */
@Injectable()
export class ResetLinksRepository {
  /**
   * Makes a link the only good one of its account: the reset epoch moves on.
   * @param email  the address it is mailed to: no link for an account that has another one by now
   * @returns false when there is no such account any more
   */
  async replace(tx: SqlExecutor, userId: string, email: string, tokenHash: Buffer): Promise<boolean> {
    const rows = await tx.query(
      `with account as (
         update user_account set reset_epoch = reset_epoch + 1
         where id = $1 and email = $2 and status = 'active' and password_hash is not null
         returning id, reset_epoch
       )
       insert into link_token (user_id, purpose, token_hash, epoch, expires_at)
       select id, 'password_reset', $3, reset_epoch, now() + interval '1 hour' from account
       on conflict (user_id, purpose) do update
         set token_hash = excluded.token_hash, epoch = excluded.epoch, expires_at = excluded.expires_at,
           used_at = null, created_at = now()
       returning user_id`,
      [userId, email, tokenHash],
    );
    return rows.length === 1;
  }

  /** Whose link this is, while it is good; without using it up. */
  async findOwner(db: SqlExecutor, tokenHash: Buffer): Promise<string | null> {
    const [row] = await db.query<{ userId: string }>(
      `select u.id as "userId" from link_token t join user_account u on u.id = t.user_id
       where t.token_hash = $1 and ${GOOD}`,
      [tokenHash],
    );
    return row?.userId ?? null;
  }

  /** Uses a link up: for exactly one caller. The account's row is locked first, as everywhere else. */
  async use(tx: SqlExecutor, tokenHash: Buffer): Promise<string | null> {
    await tx.query(
      `select u.id from link_token t join user_account u on u.id = t.user_id where t.token_hash = $1 for update of u`,
      [tokenHash],
    );
    const [used] = await tx.query<{ userId: string }>(
      `update link_token t set used_at = now() from user_account u
       where t.token_hash = $1 and u.id = t.user_id and ${GOOD}
       returning u.id as "userId"`,
      [tokenHash],
    );
    return used?.userId ?? null;
  }
}
