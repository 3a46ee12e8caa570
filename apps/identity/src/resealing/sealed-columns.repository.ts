import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { mailSealContext } from '../mail/mail-outbox.service.js';
import { totpSealContext } from '../mfa/mfa-factors.repository.js';
import { signingKeySealContext } from '../signing-keys/new-signing-key.js';

/** A column that holds sealed texts. */
export interface SealedColumn {
  table: string;
  id: string;
  column: string;
  contextOf: (id: string) => string;
}

/** Everything identity keeps sealed for longer than minutes. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'signing_key', id: 'kid', column: 'private_jwk_sealed', contextOf: signingKeySealContext },
  { table: 'totp_factor', id: 'user_id', column: 'secret_sealed', contextOf: totpSealContext },
  { table: 'mail', id: 'id', column: 'values_sealed', contextOf: mailSealContext },
];

export interface SealedText {
  id: string;
  sealed: string;
}

/** Sealed texts, a set at a time, under the worker login. */
@Injectable()
export class SealedColumnsRepository {
  /**
   * Holds the next texts that another key than `activeKid` sealed, in the order of their ids. What another replica
   * holds is left to it.
   * @param after  the last id of the set before, or null
   */
  hold(
    tx: SqlExecutor,
    { table, id, column }: SealedColumn,
    activeKid: string,
    after: string | null,
    limit: number,
  ): Promise<SealedText[]> {
    return tx.query<SealedText>(
      `select ${id}::text as id, ${column} as sealed from ${table}
       where ${column} <> '' and split_part(${column}, '.', 2) <> $1 and ($2::text is null or ${id}::text > $2)
       order by ${id}::text limit $3 for update skip locked`,
      [activeKid, after, limit],
    );
  }

  async replace(tx: SqlExecutor, { table, id, column }: SealedColumn, texts: readonly SealedText[]): Promise<void> {
    await tx.query(
      `update ${table} t set ${column} = n.sealed
       from unnest($1::text[], $2::text[]) as n(id, sealed) where t.${id}::text = n.id`,
      [texts.map(({ id: key }) => key), texts.map(({ sealed }) => sealed)],
    );
  }
}
