import { Injectable } from '@nestjs/common';
import type { WorkerTransaction } from '@rmm/persistence';

/** The sealed secrets of one connection. */
export interface SealedSecrets {
  id: string;
  sealed: string;
}

/** Sealed secrets of connections under the worker login, across tenants: a rotation has no caller. */
@Injectable()
export class PsaSecretsRepository {
  /**
   * Locks the next secrets that another key than `activeKid` sealed, in the order of their ids. Those that another replica
   * has locked are left to it.
   * @param after  the last id of the batch before, or null
   */
  lockOutdated(
    tx: WorkerTransaction,
    activeKid: string,
    after: string | null,
    limit: number,
  ): Promise<SealedSecrets[]> {
    return tx.query<SealedSecrets>(
      `SELECT id, secrets_sealed AS sealed FROM psa_connection
        WHERE split_part(secrets_sealed, '.', 2) <> :activeKid AND (:after::uuid IS NULL OR id > :after::uuid)
        ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED`,
      { activeKid, after, limit },
    );
  }

  async replace(tx: WorkerTransaction, secrets: readonly SealedSecrets[]): Promise<void> {
    await tx.query(
      `UPDATE psa_connection c SET secrets_sealed = n.sealed
         FROM unnest(:ids::uuid[], :texts::text[]) AS n(id, sealed) WHERE c.id = n.id`,
      { ids: secrets.map(({ id }) => id), texts: secrets.map(({ sealed }) => sealed) },
    );
  }
}
