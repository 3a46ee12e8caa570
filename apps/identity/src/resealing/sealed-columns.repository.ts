import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { mailSealContext } from '../mail/mail.service.js';
import { totpSealContext } from '../mfa/mfa.repository.js';
import { signingKeySealContext } from '../signing-keys/signing-key.js';
import { clientSecretSealContext } from '../sso/sso-provider.entity.js';

/** A column of sealed texts. */
export interface SealedColumn {
  table: string;
  id: string;
  column: string;
  contextOf: (id: string) => string;
}

/** Every column that is sealed for longer than minutes. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [
  { table: 'signing_key', id: 'kid', column: 'private_jwk_sealed', contextOf: signingKeySealContext },
  { table: 'totp_factor', id: 'user_id', column: 'secret_sealed', contextOf: totpSealContext },
  { table: 'mail', id: 'id', column: 'values_sealed', contextOf: mailSealContext },
  { table: 'sso_provider', id: 'id', column: 'client_secret_sealed', contextOf: clientSecretSealContext },
];

export interface SealedText {
  id: string;
  sealed: string;
}

/** Sealed texts of one column at a time, under the worker login. */
@Injectable()
export class SealedColumnsRepository {
  /**
   * Locks the next texts that another key than `activeKid` sealed, in the order of their ids. Texts that another replica
   * has locked are left to it.
   * @param after  the last id of the batch before, or null
   */
  lockOutdated(
    tx: SqlExecutor,
    { table, id, column }: SealedColumn,
    activeKid: string,
    after: string | null,
    limit: number,
  ): Promise<SealedText[]> {
    return tx.query<SealedText>(
      `SELECT ${id}::text AS id, ${column} AS sealed FROM ${table}
       WHERE ${column} <> '' AND split_part(${column}, '.', 2) <> :activeKid
         AND (:after::text IS NULL OR ${id}::text > :after)
       ORDER BY ${id}::text LIMIT :limit FOR UPDATE SKIP LOCKED`,
      { activeKid, after, limit },
    );
  }

  async replace(tx: SqlExecutor, { table, id, column }: SealedColumn, texts: readonly SealedText[]): Promise<void> {
    await tx.query(
      `UPDATE ${table} t SET ${column} = n.sealed
       FROM unnest(:ids::text[], :texts::text[]) AS n(id, sealed) WHERE t.${id}::text = n.id`,
      { ids: texts.map((text) => text.id), texts: texts.map((text) => text.sealed) },
    );
  }
}
