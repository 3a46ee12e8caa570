import { Injectable } from '@nestjs/common';
import { listPage, WorkerDatabase, type PageRequest, type PageRows, type SqlExecutor } from '@rmm/persistence';
import type { SsoIdentity } from './sso-identity.entity.js';

export interface ListedIdentity extends Pick<SsoIdentity, 'id' | 'providerId' | 'email' | 'createdAt' | 'lastLoginAt'> {
  providerName: string;
  orgId: string | null;
}

export type NewIdentity = Pick<SsoIdentity, 'providerId' | 'subject' | 'userId' | 'email'>;

export type RemovedIdentity = { userId: string } & ({ email: string; name: string } | { email: null; name: null });

/** `taken`: the subject belongs to another user, or the user has another subject of the provider. */
export type LinkResult = 'linked' | 'present' | 'taken';

/** Subjects of identity providers and the users they sign in. SQL, because each link is decided by unique keys. */
@Injectable()
export class SsoIdentitiesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Finds the user of a subject; under the worker login. */
  async findUserId(db: SqlExecutor, providerId: string, subject: string): Promise<string | null> {
    const [row] = await db.query<{ userId: string }>(
      'SELECT user_id AS "userId" FROM sso_identity WHERE provider_id = :providerId AND subject = :subject',
      { providerId, subject },
    );
    return row?.userId ?? null;
  }

  /** Finds the user whom the provider has provisioned by SCIM with a subject as its external id, and keeps active. */
  async findProvisionedUserId(db: SqlExecutor, providerId: string, subject: string): Promise<string | null> {
    const [row] = await db.query<{ userId: string }>(
      `SELECT user_id AS "userId" FROM scim_user
       WHERE provider_id = :providerId AND external_id = :subject AND active`,
      { providerId, subject },
    );
    return row?.userId ?? null;
  }

  /** Returns true when the user has an identity, of another provider than `exceptProviderId`. */
  async hasOther(db: SqlExecutor, userId: string, exceptProviderId: string): Promise<boolean> {
    const rows = await db.query(
      'SELECT 1 AS one FROM sso_identity WHERE user_id = :userId AND provider_id <> :exceptProviderId LIMIT 1',
      { userId, exceptProviderId },
    );
    return rows.length > 0;
  }

  /** Links a subject to a user, for one of concurrent callers. */
  async link(tx: SqlExecutor, identity: NewIdentity): Promise<LinkResult> {
    const rows = await tx.query(
      `INSERT INTO sso_identity (provider_id, subject, user_id, email)
       VALUES (:providerId, :subject, :userId, :email)
       ON CONFLICT DO NOTHING RETURNING id`,
      { ...identity },
    );
    if (rows.length === 1) return 'linked';
    const ownerId = await this.findUserId(tx, identity.providerId, identity.subject);
    return ownerId === identity.userId ? 'present' : 'taken';
  }

  async recordLogin(tx: SqlExecutor, providerId: string, subject: string): Promise<void> {
    await tx.query(
      'UPDATE sso_identity SET last_login_at = now() WHERE provider_id = :providerId AND subject = :subject',
      { providerId, subject },
    );
  }

  /** Lists the identities of a user with their providers, whose tenants the user may have left; under the worker login. */
  list(userId: string, page: PageRequest): Promise<PageRows<ListedIdentity>> {
    return listPage<ListedIdentity>(this.worker, {
      select: `i.id, i.provider_id AS "providerId", p.name AS "providerName", p.org_id AS "orgId", i.email,
        i.created_at AS "createdAt", i.last_login_at AS "lastLoginAt"`,
      from: 'sso_identity i JOIN sso_provider p ON p.id = i.provider_id',
      where: 'i.user_id = :userId',
      orderBy: 'i.created_at DESC, i.id DESC',
      params: { userId },
      page,
    });
  }

  /** Returns the providers of a user's identities, the one used last first. */
  async listProviderIds(userId: string): Promise<string[]> {
    const rows = await this.worker.query<{ providerId: string }>(
      `SELECT provider_id AS "providerId" FROM sso_identity WHERE user_id = :userId
       ORDER BY last_login_at DESC NULLS LAST, created_at DESC LIMIT 20`,
      { userId },
    );
    return rows.map(({ providerId }) => providerId);
  }

  /** Deletes an identity of the caller. @returns its provider; null when the caller has no such identity */
  async remove(
    tx: SqlExecutor,
    userId: string,
    id: string,
  ): Promise<Pick<ListedIdentity, 'providerId' | 'providerName'> | null> {
    const [row] = await tx.query<Pick<ListedIdentity, 'providerId' | 'providerName'>>(
      `DELETE FROM sso_identity i USING sso_provider p
       WHERE i.id = :id AND i.user_id = :userId AND p.id = i.provider_id
       RETURNING p.id AS "providerId", p.name AS "providerName"`,
      { id, userId },
    );
    return row ?? null;
  }

  /** Deletes the identities of a provider. @returns their users, with the address of those who are visible and active */
  removeAll(tx: SqlExecutor, providerId: string): Promise<RemovedIdentity[]> {
    return tx.query<RemovedIdentity>(
      `WITH removed AS (DELETE FROM sso_identity WHERE provider_id = :providerId RETURNING user_id)
       SELECT r.user_id AS "userId", u.email, u.name
       FROM removed r LEFT JOIN user_account u ON u.id = r.user_id AND u.status = 'active'`,
      { providerId },
    );
  }

  /** Ends the sessions of a user that a provider opened. @returns how many were active */
  async endSessions(
    tx: SqlExecutor,
    { providerId, userId, sid }: { providerId: string; userId: string | null; sid: string | null },
    exceptSessionId: string | null = null,
  ): Promise<string[]> {
    const rows = await tx.query<{ userId: string }>(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = 'sso_logout'
       WHERE sso_provider_id = :providerId AND revoked_at IS NULL
         AND (:userId::uuid IS NULL OR user_id = :userId) AND (:sid::text IS NULL OR sso_sid = :sid)
         AND (:exceptSessionId::uuid IS NULL OR id <> :exceptSessionId)
       RETURNING user_id AS "userId"`,
      { providerId, userId, sid, exceptSessionId },
    );
    return rows.map((row) => row.userId);
  }

  /** Returns the provider that a session began with; null without one. */
  async findSource(db: SqlExecutor, sessionId: string): Promise<string | null> {
    const [row] = await db.query<{ providerId: string | null }>(
      'SELECT sso_provider_id AS "providerId" FROM session_family WHERE id = :sessionId',
      { sessionId },
    );
    return row?.providerId ?? null;
  }
}
