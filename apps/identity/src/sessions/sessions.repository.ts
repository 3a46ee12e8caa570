import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { listPage, TenantDatabase, type PageRequest, type PageRows, type SqlExecutor } from '@rmm/persistence';
import type { MembershipKey } from '../members/membership.types.js';
import type { RevokedReason, SessionFamily } from './session-family.entity.js';

const MAX_ADDRESS = 45;
const MAX_USER_AGENT = 512;

/** Replaced tokens of a session that are kept, so that their use is noticed. */
const MAX_REPLACED_TOKENS = 1_000;

type StoredWithSession =
  'id' | 'userId' | 'scope' | 'partnerId' | 'orgId' | 'mfa' | 'factor' | 'method' | 'authEpoch' | 'mfaEpoch';

export interface NewSession extends Pick<SessionFamily, StoredWithSession | 'ipAddress' | 'userAgent'> {
  lifetimeHours: number;
  /** A factor was proven just now. */
  factorProven: boolean;
  /** The password was proven just now. */
  passwordProven: boolean;
  /** Id of the session whose time of sign-in, end, method and proofs are taken over. */
  replaces: string | null;
  /** Takes over `mfa` and `factor` of that session too. */
  keepsFactor: boolean;
  /** The identity provider that signed the user in, and its session id. */
  ssoProviderId: string | null;
  ssoSid: string | null;
  /** Hash of the first refresh token. */
  tokenHash: Buffer;
  tokenTtlDays: number;
}

/** A session as it was stored, with what it took over from another one. */
export interface InsertedSession extends Pick<SessionFamily, 'mfa' | 'factor' | 'ssoProviderId'> {
  /** The database clock of the transaction. */
  now: Date;
  /** True when the session took over an end that has passed. */
  ended: boolean;
}

export interface SessionUse {
  /** The session ends no later than this after the sign-in. */
  lifetimeHours: number;
  ipAddress: string | null;
  userAgent: string | null;
}

/** When the user of a session last proved password and factor, and the database clock. */
export interface SessionProofs {
  /** A second factor was verified in this session. */
  mfa: boolean;
  passwordProofAt: Date | null;
  factorProofAt: Date | null;
  now: Date;
}

/** The owner of an identity provider; without ids when the provider was deleted. */
export interface SsoOwner {
  partnerId: string | null;
  orgId: string | null;
}

/** A refresh token that a client presented, with its session. */
export interface PresentedToken extends Pick<SessionFamily, StoredWithSession | 'ssoProviderId'> {
  tokenId: string;
  expired: boolean;
  rotated: boolean;
  /** Seconds since the token was replaced, by the database clock. */
  rotatedSecondsAgo: number | null;
  /** The identity provider that signed the user in was deleted or is not active. */
  ssoProviderEnded: boolean;
  familyEnded: boolean;
  /** E-mail address of the owner. */
  email: string;
}

type ListedColumns = 'id' | 'ipAddress' | 'userAgent' | 'method' | 'mfa' | 'createdAt' | 'lastUsedAt';

export type ListedSession = Pick<SessionFamily, ListedColumns | keyof MembershipKey> & { expiresAt: Date };

/**
 * Sessions, their refresh tokens, and the devices users sign in from. SQL, because sign-in, rotation and revocation are atomic statements that use the
 * database clock. @see docs/reference/authentication.md
 */
@Injectable()
export class SessionsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /**
   * Records that a session enters a membership and locks it against a concurrent removal, which then ends that session.
   * @returns false when the membership is gone
   */
  async enterMembership(tx: SqlExecutor, userId: string, { scope, partnerId, orgId }: MembershipKey): Promise<boolean> {
    if (scope === 'system') return true;
    const rows =
      scope === 'partner'
        ? await tx.query(
            `UPDATE partner_membership SET last_entered_at = now()
             WHERE user_id = :userId AND partner_id = :partnerId RETURNING id`,
            { userId, partnerId },
          )
        : await tx.query(
            `UPDATE organization_membership SET last_entered_at = now()
             WHERE user_id = :userId AND partner_id = :partnerId AND org_id = :orgId RETURNING id`,
            { userId, partnerId, orgId },
          );
    return rows.length === 1;
  }

  /**
   * Stores a session and its first refresh token. A session that replaces another takes over how and when its user
   * signed in: its end is not extended, and newer proofs win.
   */
  async insert(tx: SqlExecutor, session: NewSession): Promise<InsertedSession> {
    const [row] = await tx.query<InsertedSession>(
      `WITH family AS (
         INSERT INTO session_family (id, user_id, scope, partner_id, org_id, mfa, factor, method, auth_epoch, mfa_epoch,
           ip_address, user_agent, signed_in_at, absolute_expires_at, password_proof_at, factor_proof_at, sso_provider_id,
           sso_sid)
         SELECT :id, :userId, :scope, :partnerId, :orgId,
           CASE WHEN :keepsFactor THEN coalesce(o.mfa, FALSE) ELSE :mfa END,
           CASE WHEN :keepsFactor THEN o.factor ELSE :factor END,
           coalesce(o.method, :method), :authEpoch, :mfaEpoch, :ipAddress, :userAgent, coalesce(o.signed_in_at, now()),
           least(coalesce(o.signed_in_at, now()) + make_interval(hours => :lifetimeHours), o.absolute_expires_at),
           greatest(CASE WHEN :passwordProven THEN now() END, o.password_proof_at),
           greatest(CASE WHEN :factorProven THEN now() END, o.factor_proof_at),
           coalesce(o.sso_provider_id, :ssoProviderId::uuid), coalesce(o.sso_sid, :ssoSid)
         FROM (SELECT) one LEFT JOIN session_family o ON o.id = :replaces AND o.user_id = :userId
         RETURNING id, user_id, mfa, factor, absolute_expires_at, sso_provider_id
       ),
       token AS (
         INSERT INTO refresh_token (family_id, user_id, token_hash, expires_at)
         SELECT id, user_id, :tokenHash, least(now() + make_interval(days => :tokenTtlDays), absolute_expires_at)
         FROM family
       )
       SELECT mfa, factor, sso_provider_id AS "ssoProviderId", absolute_expires_at <= now() AS ended, now() AS now
       FROM family`,
      { ...session, ...clientColumns(session) },
    );
    if (!row) throw new Error('INSERT INTO session_family returned no row');
    return row;
  }

  /**
   * Adds a refresh token to a session; it never outlives the session. Deletes replaced tokens that have expired, and all
   * but the newest 1,000: a client that refreshes every quarter of an hour has 672 that are not expired.
   */
  async insertToken(tx: SqlExecutor, sessionId: string, tokenHash: Buffer, ttlDays: number): Promise<void> {
    await tx.query(
      `DELETE FROM refresh_token WHERE family_id = :sessionId AND rotated_at IS NOT NULL AND (
         expires_at < now() OR issued_at < (
           SELECT issued_at FROM refresh_token WHERE family_id = :sessionId
           ORDER BY issued_at DESC OFFSET ${MAX_REPLACED_TOKENS} LIMIT 1))`,
      { sessionId },
    );
    await tx.query(
      `INSERT INTO refresh_token (family_id, user_id, token_hash, expires_at)
       SELECT f.id, f.user_id, :tokenHash, least(now() + make_interval(days => :ttlDays), f.absolute_expires_at)
       FROM session_family f WHERE f.id = :sessionId`,
      { sessionId, tokenHash, ttlDays },
    );
  }

  async findToken(db: SqlExecutor, tokenHash: Buffer): Promise<PresentedToken | null> {
    const [row] = await db.query<PresentedToken>(
      `SELECT t.id AS "tokenId", t.expires_at <= now() AS expired, t.rotated_at IS NOT NULL AS rotated,
         extract(epoch FROM now() - t.rotated_at)::float8 AS "rotatedSecondsAgo",
         (f.revoked_at IS NOT NULL OR f.absolute_expires_at <= now()) AS "familyEnded", u.email,
         f.id, f.user_id AS "userId", f.scope, f.partner_id AS "partnerId", f.org_id AS "orgId", f.mfa, f.factor,
         f.method, f.auth_epoch AS "authEpoch", f.mfa_epoch AS "mfaEpoch", f.sso_provider_id AS "ssoProviderId",
         f.sso_provider_id IS NOT NULL AND NOT EXISTS (
           SELECT FROM sso_provider p WHERE p.id = f.sso_provider_id AND p.status = 'active') AS "ssoProviderEnded"
       FROM refresh_token t JOIN session_family f ON f.id = t.family_id JOIN user_account u ON u.id = f.user_id
       WHERE t.token_hash = :tokenHash`,
      { tokenHash },
    );
    return row ?? null;
  }

  /** Marks a token as replaced. @returns true for exactly one of concurrent callers */
  async claimToken(tx: SqlExecutor, tokenId: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE refresh_token SET rotated_at = clock_timestamp() WHERE id = :tokenId AND rotated_at IS NULL RETURNING id`,
      { tokenId },
    );
    return rows.length === 1;
  }

  /** Locks a session against a concurrent logout and records its use. @returns false when it has ended */
  async recordUse(tx: SqlExecutor, sessionId: string, use: SessionUse): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE session_family SET last_used_at = now(),
         absolute_expires_at = least(absolute_expires_at, signed_in_at + make_interval(hours => :lifetimeHours)),
         ip_address = coalesce(:ipAddress, ip_address), user_agent = coalesce(:userAgent, user_agent)
       WHERE id = :sessionId AND revoked_at IS NULL
         AND least(absolute_expires_at, signed_in_at + make_interval(hours => :lifetimeHours)) > now()
       RETURNING id`,
      { sessionId, lifetimeHours: use.lifetimeHours, ...clientColumns(use) },
    );
    return rows.length === 1;
  }

  /**
   * Returns the owner of the identity provider that a session began with, and locks the provider: its end waits, and ends
   * the session that replaces this one. Without ids when the provider was deleted; null for a session that began without one.
   */
  async lockSsoOwner(tx: SqlExecutor, sessionId: string): Promise<SsoOwner | null> {
    await tx.query(
      `SELECT 1 AS one FROM sso_provider
       WHERE id = (SELECT sso_provider_id FROM session_family WHERE id = :sessionId) FOR SHARE`,
      { sessionId },
    );
    const [row] = await tx.query<SsoOwner>(
      `SELECT s.partner_id AS "partnerId", s.org_id AS "orgId"
       FROM session_family f LEFT JOIN sso_provider s ON s.id = f.sso_provider_id
       WHERE f.id = :sessionId AND f.sso_provider_id IS NOT NULL`,
      { sessionId },
    );
    return row ?? null;
  }

  /**
   * Locks the provider of a sign-in against changes, which then end the session of the sign-in too.
   * @returns false when the provider was deleted, is not active, or was changed since the sign-in
   */
  async lockSsoProvider(
    tx: SqlExecutor,
    { providerId, configVersion }: { providerId: string; configVersion: number },
  ): Promise<boolean> {
    const rows = await tx.query(
      `SELECT 1 AS one FROM sso_provider
       WHERE id = :providerId AND config_version = :configVersion AND status = 'active' FOR SHARE`,
      { providerId, configVersion },
    );
    return rows.length === 1;
  }

  /** Returns null when the session has ended. */
  async findProofs(db: SqlExecutor, sessionId: string): Promise<SessionProofs | null> {
    const [row] = await db.query<SessionProofs>(
      `SELECT mfa, password_proof_at AS "passwordProofAt", factor_proof_at AS "factorProofAt", now() AS now
       FROM session_family WHERE id = :sessionId AND revoked_at IS NULL`,
      { sessionId },
    );
    return row ?? null;
  }

  /** Lists the active sessions of the caller, newest first: those with a refresh token that can still be used. */
  list(caller: UserCaller, page: PageRequest): Promise<PageRows<ListedSession>> {
    return listPage(this.tenants.reader(caller), {
      select: `f.id, f.ip_address AS "ipAddress", f.user_agent AS "userAgent", f.method, f.mfa,
        f.created_at AS "createdAt", f.last_used_at AS "lastUsedAt", f.scope, f.partner_id AS "partnerId",
        f.org_id AS "orgId", least(f.absolute_expires_at, t.ends_at) AS "expiresAt"`,
      from: `session_family f
        JOIN user_account u ON u.id = f.user_id AND u.auth_epoch = f.auth_epoch AND u.mfa_epoch = f.mfa_epoch
        CROSS JOIN LATERAL (
          SELECT max(expires_at) AS ends_at FROM refresh_token WHERE family_id = f.id AND rotated_at IS NULL
        ) t`,
      where: `f.user_id = :userId AND f.revoked_at IS NULL AND f.absolute_expires_at > now() AND t.ends_at > now()`,
      orderBy: 'f.created_at DESC, f.id DESC',
      params: { userId: caller.userId },
      page,
    });
  }

  /** Ends one session. @returns how many were active */
  async revoke(tx: SqlExecutor, sessionId: string, reason: RevokedReason): Promise<number> {
    const rows = await tx.query(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = :reason
       WHERE id = :sessionId AND revoked_at IS NULL RETURNING id`,
      { sessionId, reason },
    );
    return rows.length;
  }

  /** Ends every session of a user. @returns how many were active */
  async revokeAll(tx: SqlExecutor, userId: string, reason: RevokedReason): Promise<number> {
    const rows = await tx.query(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = :reason
       WHERE user_id = :userId AND revoked_at IS NULL RETURNING id`,
      { userId, reason },
    );
    return rows.length;
  }

  /** Ends the sessions of a user that entered one membership. @returns how many were active */
  async revokeInMembership(
    tx: SqlExecutor,
    userId: string,
    { scope, partnerId, orgId }: MembershipKey,
    reason: RevokedReason,
  ): Promise<number> {
    const rows = await tx.query(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = :reason
       WHERE user_id = :userId AND scope = :scope AND partner_id IS NOT DISTINCT FROM :partnerId::uuid
         AND org_id IS NOT DISTINCT FROM :orgId::uuid AND revoked_at IS NULL RETURNING id`,
      { userId, scope, partnerId, orgId, reason },
    );
    return rows.length;
  }

  /** Ends a session at the request of its user. @returns false when the user has no such active session */
  async revokeOwn(tx: SqlExecutor, userId: string, sessionId: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = 'ended_by_user'
       WHERE id = :sessionId AND user_id = :userId AND revoked_at IS NULL AND absolute_expires_at > now() RETURNING id`,
      { userId, sessionId },
    );
    return rows.length === 1;
  }

  /** Ends every session of a user but one. @returns how many were active */
  async revokeOthers(tx: SqlExecutor, userId: string, currentId: string): Promise<number> {
    const rows = await tx.query(
      `UPDATE session_family SET revoked_at = now(), revoked_reason = 'ended_by_user'
       WHERE user_id = :userId AND id <> :currentId AND revoked_at IS NULL AND absolute_expires_at > now()
       RETURNING id`,
      { userId, currentId },
    );
    return rows.length;
  }

  /** Invalidates every access token of a user. */
  async incrementAuthEpoch(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query('UPDATE user_account SET auth_epoch = auth_epoch + 1, updated_at = now() WHERE id = :userId', {
      userId,
    });
  }

  async recordLogin(tx: SqlExecutor, userId: string): Promise<void> {
    await tx.query('UPDATE user_account SET last_login_at = now() WHERE id = :userId', { userId });
  }

  /**
   * Stores a device or the time it was seen again.
   * @returns true when the device is new and the user has another one; for one of several concurrent sign-ins only
   */
  async rememberDevice(tx: SqlExecutor, userId: string, fingerprint: Buffer): Promise<boolean> {
    const [row] = await tx.query<{ isNew: boolean }>(
      `WITH seen AS (
         INSERT INTO known_device AS k (user_id, fingerprint) VALUES (:userId, :fingerprint)
         ON CONFLICT (user_id, fingerprint) DO UPDATE SET last_seen_at = now()
         RETURNING k.first_seen_at = now() AS is_new
       )
       SELECT is_new AND EXISTS (
         SELECT FROM known_device d WHERE d.user_id = :userId AND d.fingerprint <> :fingerprint
       ) AS "isNew" FROM seen`,
      { userId, fingerprint },
    );
    return row?.isNew ?? false;
  }

  /** Deletes up to `limit` devices that were not seen for 400 days. */
  async purgeUnusedDevices(db: SqlExecutor, limit: number): Promise<void> {
    await db.query(
      `DELETE FROM known_device WHERE (user_id, fingerprint) IN (
         SELECT user_id, fingerprint FROM known_device WHERE last_seen_at < now() - INTERVAL '400 days' LIMIT :limit)`,
      { limit },
    );
  }

  /**
   * Deletes tokens of sessions that ended a day ago: they are refused with or without a row. Earlier ones were deleted
   * before. @param hours  of sessions before that day to look at @returns how many, at most `limit`
   */
  async purgeEndedTokens(db: SqlExecutor, hours: number, limit: number): Promise<number> {
    const rows = await db.query(
      `WITH ended AS (
         SELECT id FROM session_family
         WHERE revoked_at BETWEEN now() - INTERVAL '1 day' - make_interval(hours => :hours) AND now() - INTERVAL '1 day'
         UNION
         SELECT id FROM session_family
         WHERE absolute_expires_at BETWEEN now() - INTERVAL '1 day' - make_interval(hours => :hours) AND now() - INTERVAL '1 day'
       )
       DELETE FROM refresh_token WHERE id IN (
         SELECT t.id FROM ended e JOIN refresh_token t ON t.family_id = e.id LIMIT :limit
       ) RETURNING id`,
      { hours, limit },
    );
    return rows.length;
  }

  /** Deletes sessions 30 days after their end, with their tokens. @returns how many, at most `limit` */
  async purgeEnded(db: SqlExecutor, limit: number): Promise<number> {
    const rows = await db.query(
      `DELETE FROM session_family WHERE id IN (
         SELECT id FROM session_family WHERE absolute_expires_at < now() - INTERVAL '30 days' LIMIT :limit
       ) RETURNING id`,
      { limit },
    );
    return rows.length;
  }
}

const clientColumns = ({ ipAddress, userAgent }: Pick<SessionFamily, 'ipAddress' | 'userAgent'>) => ({
  ipAddress: ipAddress?.slice(0, MAX_ADDRESS) ?? null,
  userAgent: userAgent?.slice(0, MAX_USER_AGENT) ?? null,
});
