import { Injectable } from '@nestjs/common';
import { WorkerDatabase } from '@rmm/persistence';
import type { PublicJwkDto } from './jwks.dto.js';

export interface StoredSigningKey {
  kid: string;
  privateJwkSealed: string;
  publicJwk: PublicJwkDto;
  retiredAt: Date | null;
}

const COLUMNS = `kid, private_jwk_sealed as "privateJwkSealed", public_jwk as "publicJwk", retired_at as "retiredAt"`;
/** One number for one lock: who makes the first key. */
const FIRST_KEY_LOCK = 727_002;

/** The token signing keys of the fleet, under the worker login. */
@Injectable()
export class SigningKeysRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** The active key and those retired less than a day ago, active first. */
  listUsable(): Promise<StoredSigningKey[]> {
    return this.worker.query(
      `select ${COLUMNS} from signing_key where retired_at is null or retired_at > now() - interval '24 hours'
       order by retired_at desc nulls first, created_at desc`,
    );
  }

  /** Stores a key unless another replica was first. Racing starts make one key. */
  insertFirst(key: { kid: string; privateJwkSealed: string; publicJwk: PublicJwkDto }): Promise<void> {
    return this.worker.run(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [FIRST_KEY_LOCK]);
      await tx.query(
        `insert into signing_key (kid, private_jwk_sealed, public_jwk)
         select $1, $2, $3::jsonb where not exists (select from signing_key where retired_at is null)`,
        [key.kid, key.privateJwkSealed, JSON.stringify(key.publicJwk)],
      );
    });
  }
}
