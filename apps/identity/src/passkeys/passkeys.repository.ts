import { Injectable } from '@nestjs/common';
import { TenantDatabase, TenantRepository, type PageRows, type Source, type SqlExecutor } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { PageQueryDto } from '@rmm/validation';
import type { Transaction } from '../transaction.js';
import { Passkey } from './passkey.entity.js';

export type NewPasskey = Omit<Passkey, 'id' | 'lastUsedAt' | 'createdAt'>;

/** The state of a passkey that an assertion proved. */
export interface PasskeyUse {
  passkeyId: string;
  /** The signature counter of the authenticator. */
  counter: number;
  backedUp: boolean;
}

/** The passkeys of users. Reads before a login run under the worker login. */
@Injectable()
export class PasskeysRepository extends TenantRepository<Passkey> {
  constructor(tenants: TenantDatabase) {
    super(tenants, Passkey, () => new NotFoundError('Passkey'));
  }

  listPageOf(source: Source, userId: string, page: PageQueryDto): Promise<PageRows<Passkey>> {
    return this.listPage(source, { where: { userId }, page });
  }

  listOf(source: Source, userId: string): Promise<Passkey[]> {
    return this.findMany(source, { where: { userId } });
  }

  countOf(source: Source, userId: string): Promise<number> {
    return this.count(source, { where: { userId } });
  }

  async hasAny(db: SqlExecutor, userId: string): Promise<boolean> {
    const rows = await db.query('SELECT 1 AS one FROM passkey WHERE user_id = :userId LIMIT 1', { userId });
    return rows.length > 0;
  }

  findByCredentialId(source: Source, credentialId: Buffer): Promise<Passkey | null> {
    return this.findOne(source, { where: { credentialId } });
  }

  /** @throws NotFoundError when the user has no such passkey */
  getOf(source: Source, userId: string, id: string): Promise<Passkey> {
    return this.getOne(source, { where: { id, userId } });
  }

  /** @throws a unique violation of `passkey_credential_key` when an account has the credential already */
  add(tx: Transaction, passkey: NewPasskey): Promise<Passkey> {
    return this.insert(tx, passkey);
  }

  /** @throws NotFoundError when the user has no such passkey */
  rename(tx: Transaction, userId: string, id: string, name: string): Promise<Passkey> {
    return this.updateOne(tx, { id, userId }, { name });
  }

  /** @returns false when the user has no such passkey */
  async remove(tx: Transaction, userId: string, id: string): Promise<boolean> {
    return (await this.delete(tx, { id, userId })) === 1;
  }

  /**
   * Stores a use. The counter rises, or the authenticator has none and it stays 0: one statement, so that of
   * concurrent uses with the same counter one succeeds.
   * @returns false when the counter did not rise or the passkey is gone
   */
  async recordUse(tx: SqlExecutor, { passkeyId, counter, backedUp }: PasskeyUse): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE passkey SET counter = :counter, backed_up = :backedUp, last_used_at = now()
       WHERE id = :passkeyId AND (counter < :counter OR (counter = 0 AND :counter = 0)) RETURNING id`,
      { passkeyId, counter, backedUp },
    );
    return rows.length === 1;
  }
}
