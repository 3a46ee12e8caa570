import { Injectable } from '@nestjs/common';
import type { WorkerTransaction } from '@rmm/persistence';
import type { WebhookHeader } from './webhook-headers.policy.js';

/** The sealed texts of a row; those that its table does not have are null. */
export interface SealedTexts {
  id: string;
  webhookId: string;
  urlSealed: string | null;
  secretSealed: string | null;
  previousSecretSealed: string | null;
  headers: readonly WebhookHeader[];
}

/** The tables with sealed texts of webhooks. */
export const SEALED_TABLES = ['webhook', 'request_shape'] as const;
export type SealedTable = (typeof SEALED_TABLES)[number];

const COLUMNS: Record<SealedTable, string> = {
  webhook: `id, id AS "webhookId", url_sealed AS "urlSealed", secret_sealed AS "secretSealed",
            previous_secret_sealed AS "previousSecretSealed", headers`,
  request_shape: `id, webhook_id AS "webhookId", NULL AS "urlSealed", NULL AS "secretSealed",
                  NULL AS "previousSecretSealed", headers`,
};

const OUTDATED_HEADER = `
  EXISTS (SELECT FROM jsonb_array_elements(headers) AS h WHERE split_part(h->>'value', '.', 2) <> :activeKid)`;
const OUTDATED: Record<SealedTable, string> = {
  webhook: `split_part(url_sealed, '.', 2) <> :activeKid OR split_part(secret_sealed, '.', 2) <> :activeKid
            OR split_part(previous_secret_sealed, '.', 2) <> :activeKid OR ${OUTDATED_HEADER}`,
  request_shape: OUTDATED_HEADER,
};

const REPLACE: Record<SealedTable, string> = {
  webhook: `
    UPDATE webhook SET url_sealed = n."urlSealed", secret_sealed = n."secretSealed",
                       previous_secret_sealed = n."previousSecretSealed", headers = n.headers
    FROM jsonb_to_recordset(:rows::jsonb)
      AS n(id uuid, "urlSealed" text, "secretSealed" text, "previousSecretSealed" text, headers jsonb)
    WHERE webhook.id = n.id`,
  request_shape: `
    UPDATE request_shape SET headers = n.headers FROM jsonb_to_recordset(:rows::jsonb) AS n(id uuid, headers jsonb)
    WHERE request_shape.id = n.id`,
};

/** Sealed texts of webhooks under the worker login, across tenants: a rotation has no caller. */
@Injectable()
export class SealedWebhooksRepository {
  /**
   * Locks the next rows with texts that another key than `activeKid` sealed, in the order of their ids. Those that another
   * replica has locked are left to it.
   * @param after  the last id of the batch before, or null
   */
  lockOutdated(
    tx: WorkerTransaction,
    table: SealedTable,
    activeKid: string,
    after: string | null,
    limit: number,
  ): Promise<SealedTexts[]> {
    return tx.query<SealedTexts>(
      `SELECT ${COLUMNS[table]} FROM ${table}
       WHERE (${OUTDATED[table]}) AND (:after::uuid IS NULL OR id > :after::uuid)
       ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED`,
      { activeKid, after, limit },
    );
  }

  async replace(tx: WorkerTransaction, table: SealedTable, rows: readonly SealedTexts[]): Promise<void> {
    await tx.query(REPLACE[table], { rows: JSON.stringify(rows) });
  }
}
