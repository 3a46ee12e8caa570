import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { PublicJwkDto } from './jwks.dto.js';

export interface StoredSigningKey {
  kid: string;
  /** Empty for a key of JWT_SIGNING_KEYRING, whose private part stays with the operator. */
  privateJwkSealed: string;
  publicJwk: PublicJwkDto;
  /** It has not retired yet. */
  maySign: boolean;
}

export interface NewSigningKey {
  kid: string;
  privateJwkSealed: string;
  publicJwk: PublicJwkDto;
}

/** One number for one lock: who makes a key. */
const KEY_MAKING_LOCK = 727_002;

/**
 * A new key is published at once and signs this much later: longer than caches keep the JWKS (five minutes) and than
 * verifiers wait before they look again (thirty seconds), so that nobody meets a key it cannot know. @see CONTRACT.md 2.1
 */
const PUBLISHED_AHEAD = '6 minutes';

/**
 * The token signing keys of the fleet, under the worker login. A key signs until it retires, and at any time the one
 * that retires first signs: a successor waits for that.
 */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** The keys that may sign, the one that does first, then those retired less than a day ago. */
  listUsable(): Promise<StoredSigningKey[]> {
    return this.worker.query(
      `select kid, private_jwk_sealed as "privateJwkSealed", public_jwk as "publicJwk",
         retired_at is null or retired_at > now() as "maySign"
       from signing_key where retired_at is null or retired_at > now() - interval '24 hours'
       order by "maySign" desc, case when retired_at <= now() then now() - retired_at end, retired_at nulls last`,
    );
  }

  /** Stores a key unless another replica was first. Racing starts make one key. */
  insertFirst(key: NewSigningKey): Promise<void> {
    return this.worker.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [KEY_MAKING_LOCK]);
      await tx.query(
        `insert into signing_key (kid, private_jwk_sealed, public_jwk)
         select $1, $2, $3::jsonb where not exists (select from signing_key where retired_at is null)`,
        [key.kid, key.privateJwkSealed, JSON.stringify(key.publicJwk)],
      );
    });
  }

  /**
   * Publishes a key as the successor of the newest one. The clock is read under the lock: the start of a transaction
   * that waited for it lies before the one it waited for, and the order of keys would turn round.
   * @returns the key it follows and when; null when there is none to follow
   */
  async succeed(tx: SqlExecutor, key: NewSigningKey): Promise<{ kid: string; at: Date } | null> {
    await tx.query('select pg_advisory_xact_lock($1)', [KEY_MAKING_LOCK]);
    const [retiring] = await tx.query<{ kid: string; at: Date }>(
      `update signing_key set retired_at = clock_timestamp() + interval '${PUBLISHED_AHEAD}' where retired_at is null
       returning kid, retired_at as at`,
    );
    if (!retiring) return null;
    await tx.query('insert into signing_key (kid, private_jwk_sealed, public_jwk) values ($1, $2, $3::jsonb)', [
      key.kid,
      key.privateJwkSealed,
      JSON.stringify(key.publicJwk),
    ]);
    return retiring;
  }

  /** Lists keys of JWT_SIGNING_KEYRING for every replica, for a day from now, also for those without them in their ring. */
  async announce(publicJwks: readonly PublicJwkDto[]): Promise<void> {
    await this.worker.query(
      `insert into signing_key (kid, private_jwk_sealed, public_jwk, retired_at)
       select key ->> 'kid', '', key, now() from jsonb_array_elements($1::jsonb) key
       on conflict (kid) do update set retired_at = now()`,
      [JSON.stringify(publicJwks)],
    );
  }

  /** The keys of the database sign no more: those of the configuration do. */
  async retireAll(): Promise<void> {
    await this.worker.query(`update signing_key set retired_at = now() where retired_at is null or retired_at > now()`);
  }
}
