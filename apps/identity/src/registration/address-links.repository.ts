import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

export type AddressPurpose = 'email_change' | 'email_verification';

export interface NewAddressLink {
  userId: string;
  purpose: AddressPurpose;
  tokenHash: Buffer;
  /** The e-mail epoch the link belongs to. */
  epoch: number;
}

/** Links that prove an address of an account, under the worker login. */
@Injectable()
export class AddressLinksRepository {
  /** One live link per user and purpose, good for an hour. The caller holds the account's row. */
  async replace(tx: SqlExecutor, { userId, purpose, tokenHash, epoch }: NewAddressLink): Promise<void> {
    await tx.query(
      `insert into link_token (user_id, purpose, token_hash, epoch, expires_at)
       values ($1, $2, $3, $4, now() + interval '1 hour')
       on conflict (user_id, purpose) do update
         set token_hash = excluded.token_hash, epoch = excluded.epoch, expires_at = excluded.expires_at,
           used_at = null, created_at = now()`,
      [userId, purpose, tokenHash, epoch],
    );
  }

  /**
   * Uses a link up: for exactly one caller, while the account is active, and unless the address or, for a change of it,
   * the password moved on since. The account's row is locked first, as everywhere else.
   */
  async use(tx: SqlExecutor, tokenHash: Buffer): Promise<{ userId: string; purpose: AddressPurpose } | null> {
    await tx.query(
      `select u.id from link_token t join user_account u on u.id = t.user_id where t.token_hash = $1 for update of u`,
      [tokenHash],
    );
    const [used] = await tx.query<{ userId: string; purpose: AddressPurpose }>(
      `update link_token t set used_at = now() from user_account u
       where t.token_hash = $1 and u.id = t.user_id and t.purpose in ('email_change', 'email_verification')
         and t.used_at is null and t.expires_at > now() and t.epoch = u.email_epoch and u.status = 'active'
         and (t.purpose <> 'email_change' or u.password_changed_at is null or u.password_changed_at <= t.created_at)
       returning u.id as "userId", t.purpose`,
      [tokenHash],
    );
    return used ?? null;
  }
}
