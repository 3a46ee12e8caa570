import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { PublicJwkDto } from './dto/jwks.dto.js';
import type { SigningKey } from './signing-key.entity.js';

export type NewSigningKey = Pick<SigningKey, 'kid' | 'privateJwkSealed' | 'publicJwk'>;

export type StoredSigningKey = NewSigningKey & {
  /** True until the key retires. */
  maySign: boolean;
};

/** Number of the advisory lock under which keys are created. */
const KEY_CREATION_LOCK = 727_002;

/**
 * A new key is published at once and signs this much later: longer than caches keep the JWKS (five minutes) and than
 * verifiers wait before they read it again (thirty seconds), so that no verifier receives a token of an unknown key.
 * @see docs/reference/authentication.md
 */
const PUBLISHED_AHEAD = '6 minutes';

/**
 * The keys that sign access tokens, under the worker login. A key signs until it retires; of several, the one that
 * retires first signs. SQL, because keys are ordered by the database clock.
 */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Lists the keys that may sign, the signing one first, then those retired less than a day ago. */
  listUsable(): Promise<StoredSigningKey[]> {
    return this.worker.query(
      `SELECT kid, private_jwk_sealed AS "privateJwkSealed", public_jwk AS "publicJwk",
         retired_at IS NULL OR retired_at > now() AS "maySign"
       FROM signing_key
       WHERE withdrawn_at IS NULL AND (retired_at IS NULL OR retired_at > now() - INTERVAL '24 hours')
       ORDER BY "maySign" DESC, CASE WHEN retired_at <= now() THEN now() - retired_at END, retired_at NULLS LAST`,
    );
  }

  /** Lists the keys that were withdrawn. */
  async listWithdrawnKids(): Promise<Set<string>> {
    const rows = await this.worker.query<{ kid: string }>('SELECT kid FROM signing_key WHERE withdrawn_at IS NOT NULL');
    return new Set(rows.map(({ kid }) => kid));
  }

  /**
   * Withdraws a key and deletes its private part. When it is the newest one, `successor` takes its place.
   * @returns false when there is no such key
   */
  async withdraw(tx: SqlExecutor, kid: string, successor: NewSigningKey | null): Promise<boolean> {
    await lock(tx);
    const rows = await tx.query(
      `UPDATE signing_key
       SET withdrawn_at = coalesce(withdrawn_at, now()), retired_at = least(retired_at, now()), private_jwk_sealed = ''
       WHERE kid = :kid RETURNING kid`,
      { kid },
    );
    if (rows.length === 0) return false;
    if (successor) await insertUnlessActive(tx, successor);
    return true;
  }

  /** Stores a key unless there is one. Replicas that start concurrently create one key. */
  insertFirst(key: NewSigningKey): Promise<void> {
    return this.worker.transaction(async (tx) => {
      await lock(tx);
      await insertUnlessActive(tx, key);
    });
  }

  /**
   * Publishes a key as the successor of the newest one. Uses the clock instead of the start of the transaction, which
   * may lie before the one it waited for and would reverse the order of keys.
   * @returns the replaced key and when it retires; null when there is none
   */
  async replaceNewest(tx: SqlExecutor, key: NewSigningKey): Promise<{ kid: string; at: Date } | null> {
    await lock(tx);
    const [retiring] = await tx.query<{ kid: string; at: Date }>(
      `UPDATE signing_key SET retired_at = clock_timestamp() + INTERVAL '${PUBLISHED_AHEAD}' WHERE retired_at IS NULL
       RETURNING kid, retired_at AS at`,
    );
    if (!retiring) return null;
    await tx.query(
      `INSERT INTO signing_key (kid, private_jwk_sealed, public_jwk)
       VALUES (:kid, :privateJwkSealed, :publicJwk::jsonb)`,
      toParams(key),
    );
    return retiring;
  }

  /** Publishes keys of JWT_SIGNING_KEYRING to all replicas for a day, also to those with another key ring. */
  async publishConfigured(publicJwks: readonly PublicJwkDto[]): Promise<void> {
    await this.worker.query(
      `INSERT INTO signing_key (kid, private_jwk_sealed, public_jwk, retired_at)
       SELECT key ->> 'kid', '', key, now() FROM jsonb_array_elements(:keys::jsonb) key
       ON CONFLICT (kid) DO UPDATE SET retired_at = now()`,
      { keys: JSON.stringify(publicJwks) },
    );
  }

  /** Retires all stored keys, because those of the configuration sign. */
  async retireAll(): Promise<void> {
    await this.worker.query('UPDATE signing_key SET retired_at = now() WHERE retired_at IS NULL OR retired_at > now()');
  }
}

const lock = (tx: SqlExecutor) => tx.query('SELECT pg_advisory_xact_lock(:lock)', { lock: KEY_CREATION_LOCK });

const insertUnlessActive = (tx: SqlExecutor, key: NewSigningKey) =>
  tx.query(
    `INSERT INTO signing_key (kid, private_jwk_sealed, public_jwk)
     SELECT :kid, :privateJwkSealed, :publicJwk::jsonb
     WHERE NOT EXISTS (SELECT FROM signing_key WHERE retired_at IS NULL)`,
    toParams(key),
  );

const toParams = ({ kid, privateJwkSealed, publicJwk }: NewSigningKey) => ({
  kid,
  privateJwkSealed,
  publicJwk: JSON.stringify(publicJwk),
});
