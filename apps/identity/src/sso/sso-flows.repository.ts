import { Injectable } from '@nestjs/common';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import type { SsoCode } from './sso-code.entity.js';
import type { SsoFlow } from './sso-flow.entity.js';

export type NewFlow = Omit<SsoFlow, 'expiresAt'>;
export type TakenFlow = Omit<SsoFlow, 'browserHash' | 'expiresAt'> & { expired: boolean };
export type NewCode = Omit<SsoCode, 'expiresAt'>;
export type TakenCode = Omit<SsoCode, 'codeHash' | 'browserHash' | 'expiresAt'>;

/**
 * Logins in progress: what begins at the provider, and the codes that end it. Under the worker login, because no user is
 * signed in yet. SQL, because each is taken by exactly one caller and timed by the database clock.
 */
@Injectable()
export class SsoFlowsRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async insert(flow: NewFlow): Promise<void> {
    await this.worker.query(
      `INSERT INTO sso_flow (state_hash, browser_hash, provider_id, config_version, purpose, user_id, session_id,
         sealed_secrets, return_to, expires_at)
       VALUES (:stateHash, :browserHash, :providerId, :configVersion, :purpose, :userId, :sessionId, :secretsSealed,
         :returnTo, now() + INTERVAL '10 minutes')`,
      { ...flow },
    );
  }

  /** Takes a login out, for exactly one caller with the cookie of the browser that began it. */
  async takeFlow(stateHash: Buffer, browserHash: Buffer): Promise<TakenFlow | null> {
    const [flow] = await this.worker.query<TakenFlow>(
      `DELETE FROM sso_flow WHERE state_hash = :stateHash AND browser_hash = :browserHash
       RETURNING state_hash AS "stateHash", provider_id AS "providerId", config_version AS "configVersion", purpose,
         user_id AS "userId", session_id AS "sessionId", sealed_secrets AS "secretsSealed", return_to AS "returnTo",
         expires_at <= now() AS expired`,
      { stateHash, browserHash },
    );
    return flow ?? null;
  }

  async insertCode(tx: SqlExecutor, code: NewCode): Promise<void> {
    await tx.query(
      `INSERT INTO sso_code (code_hash, browser_hash, provider_id, config_version, user_id, auth_epoch, idp_mfa, sso_sid,
         expires_at)
       VALUES (:codeHash, :browserHash, :providerId, :configVersion, :userId, :authEpoch, :idpMfa, :ssoSid,
         now() + INTERVAL '2 minutes')`,
      { ...code },
    );
  }

  /**
   * Takes a code out, for exactly one caller.
   * @param browserHash  of the cookie; null for a client that is no browser
   */
  async takeCode(codeHash: Buffer, browserHash: Buffer | null): Promise<TakenCode | null> {
    const [code] = await this.worker.query<TakenCode & { expired: boolean }>(
      `DELETE FROM sso_code
       WHERE code_hash = :codeHash AND (:browserHash::bytea IS NULL OR browser_hash = :browserHash)
       RETURNING provider_id AS "providerId", config_version AS "configVersion", user_id AS "userId",
         auth_epoch AS "authEpoch", idp_mfa AS "idpMfa", sso_sid AS "ssoSid", expires_at <= now() AS expired`,
      { codeHash, browserHash },
    );
    if (!code || code.expired) return null;
    const { expired: _, ...taken } = code;
    return taken;
  }

  /** Deletes logins an hour after their end, so that a late callback still learns that it is late, and codes at theirs. */
  async deleteExpired(): Promise<void> {
    await this.worker.query(`DELETE FROM sso_flow WHERE expires_at < now() - INTERVAL '1 hour'`);
    await this.worker.query('DELETE FROM sso_code WHERE expires_at < now()');
  }
}
