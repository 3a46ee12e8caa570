import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import type { MembershipKey } from '../members/membership.js';

export const SESSION_METHODS = ['password', 'passkey', 'sso', 'invite', 'registration'] as const;
export type SessionMethod = (typeof SESSION_METHODS)[number];

/** Why a family ended, as `revoked_reason` and audit rows say it. */
export type RevokedReason =
  | 'logout'
  | 'reuse_detected'
  | 'password_change'
  | 'password_reset'
  | 'email_change'
  | 'mfa_change'
  | 'mfa_reset'
  | 'membership_gone'
  | 'not_active'
  | 'switch'
  | 'ended_by_user';

export interface SessionFamily extends MembershipKey {
  id: string;
  userId: string;
  mfa: boolean;
  method: SessionMethod;
  authEpoch: number;
  mfaEpoch: number;
  revokedAt: Date | null;
  absoluteExpiresAt: Date;
}

export interface NewFamily extends MembershipKey {
  id: string;
  userId: string;
  mfa: boolean;
  method: SessionMethod;
  authEpoch: number;
  mfaEpoch: number;
  ipAddress: string | null;
  userAgent: string | null;
  absoluteTtlHours: number;
  /** A factor was proven just now. */
  factorProven: boolean;
  /** The password was proven just now. */
  passwordProven: boolean;
  /** The family whose end, method and proofs are taken over. */
  replaces: string | null;
}

/** How a session was used just now. */
export interface SessionUse {
  /** What it acts in. */
  membership: MembershipKey;
  /** What its owners say now: it ends no later than so long after it began. */
  ttlHours: number;
  ipAddress: string | null;
  userAgent: string | null;
}

export interface NewToken {
  tokenHash: Buffer;
  ttlDays: number;
}

/** When the user of a session last proved who it is, and the database clock. */
export interface SessionProofs {
  passwordProofAt: Date | null;
  factorProofAt: Date | null;
  now: Date;
}

/** A refresh token as it was presented, with its family. */
export interface PresentedToken extends SessionFamily {
  tokenId: string;
  expired: boolean;
  rotated: boolean;
  /** Seconds since it was rotated away, by the database clock. */
  rotatedSecondsAgo: number | null;
  familyEnded: boolean;
  /** Of the owner. */
  email: string;
}

const FAMILY = `f.id, f.user_id as "userId", f.scope, f.partner_id as "partnerId", f.org_id as "orgId", f.mfa, f.method,
  f.auth_epoch as "authEpoch", f.mfa_epoch as "mfaEpoch", f.revoked_at as "revokedAt",
  f.absolute_expires_at as "absoluteExpiresAt"`;

/** Refresh families and their tokens. PostgreSQL is the truth. @see CONTRACT.md 2.3 */
@Injectable()
export class SessionsRepository {
  /**
   * A family and its first token. One that replaces another keeps how and when its user signed in: its end is not
   * pushed out, its proofs do not get older.
   * @returns the database clock of this transaction
   */
  async insertFamily(tx: SqlExecutor, family: NewFamily, { tokenHash, ttlDays }: NewToken): Promise<Date> {
    const [row] = await tx.query<{ now: Date }>(
      `with family as (
         insert into session_family (id, user_id, scope, partner_id, org_id, mfa, method, auth_epoch, mfa_epoch,
           ip_address, user_agent, absolute_expires_at, password_proof_at, factor_proof_at)
         select $1, $2, $3, $4, $5, $6, coalesce(o.method, $7), $8, $9, $10, $11,
           least(now() + make_interval(hours => $12), o.absolute_expires_at),
           greatest(case when $13 then now() end, o.password_proof_at),
           greatest(case when $14 then now() end, o.factor_proof_at)
         from (select) one left join session_family o on o.id = $17 and o.user_id = $2
         returning id, user_id, absolute_expires_at
       )
       insert into refresh_token (family_id, user_id, token_hash, expires_at)
       select id, user_id, $15, least(now() + make_interval(days => $16), absolute_expires_at) from family
       returning now() as now`,
      [
        family.id,
        family.userId,
        family.scope,
        family.partnerId,
        family.orgId,
        family.mfa,
        family.method,
        family.authEpoch,
        family.mfaEpoch,
        family.ipAddress?.slice(0, 45) ?? null,
        family.userAgent?.slice(0, 512) ?? null,
        family.absoluteTtlHours,
        family.passwordProven,
        family.factorProven,
        tokenHash,
        ttlDays,
        family.replaces,
      ],
    );
    return row?.now ?? new Date();
  }

  /** A further token. It never outlives its family. */
  async insertToken(
    tx: SqlExecutor,
    familyId: string,
    userId: string,
    { tokenHash, ttlDays }: NewToken,
  ): Promise<void> {
    await tx.query(
      `insert into refresh_token (family_id, user_id, token_hash, expires_at)
       select f.id, $2, $3, least(now() + make_interval(days => $4), f.absolute_expires_at)
       from session_family f where f.id = $1`,
      [familyId, userId, tokenHash, ttlDays],
    );
  }

  async findPresented(tx: SqlExecutor, tokenHash: Buffer): Promise<PresentedToken | null> {
    const [row] = await tx.query<PresentedToken>(
      `select t.id as "tokenId", t.expires_at <= now() as expired, t.rotated_at is not null as rotated,
         extract(epoch from now() - t.rotated_at)::float8 as "rotatedSecondsAgo",
         (f.revoked_at is not null or f.absolute_expires_at <= now()) as "familyEnded", u.email, ${FAMILY}
       from refresh_token t join session_family f on f.id = t.family_id join user_account u on u.id = f.user_id
       where t.token_hash = $1`,
      [tokenHash],
    );
    return row ?? null;
  }

  /** The one atomic claim of a rotation: true for exactly one caller. */
  async claimToken(tx: SqlExecutor, tokenId: string): Promise<boolean> {
    const rows = await tx.query(
      `update refresh_token set rotated_at = clock_timestamp() where id = $1 and rotated_at is null returning id`,
      [tokenId],
    );
    return rows.length === 1;
  }

  /** Holds the family against a logout under way and notes its use. False when it has ended meanwhile. */
  async touchFamily(tx: SqlExecutor, familyId: string, use: SessionUse): Promise<boolean> {
    const { scope, partnerId, orgId } = use.membership;
    const rows = await tx.query(
      `update session_family set last_used_at = now(), scope = $2, partner_id = $3, org_id = $4,
         absolute_expires_at = least(absolute_expires_at, created_at + make_interval(hours => $5)),
         ip_address = coalesce($6, ip_address), user_agent = coalesce($7, user_agent)
       where id = $1 and revoked_at is null
         and least(absolute_expires_at, created_at + make_interval(hours => $5)) > now()
       returning id`,
      [familyId, scope, partnerId, orgId, use.ttlHours, asAddress(use.ipAddress), asAgent(use.userAgent)],
    );
    return rows.length === 1;
  }

  /** @returns how many were alive */
  async revokeFamily(tx: SqlExecutor, familyId: string, reason: RevokedReason): Promise<number> {
    const rows = await tx.query(
      `update session_family set revoked_at = now(), revoked_reason = $2
       where id = $1 and revoked_at is null returning id`,
      [familyId, reason],
    );
    return rows.length;
  }

  /** Ends every session of a user. @returns how many were alive */
  async revokeAll(tx: SqlExecutor, userId: string, reason: RevokedReason): Promise<number> {
    const rows = await tx.query(
      `update session_family set revoked_at = now(), revoked_reason = $2
       where user_id = $1 and revoked_at is null returning id`,
      [userId, reason],
    );
    return rows.length;
  }

  /** Null when the family is not alive. */
  async findProofs(db: SqlExecutor, familyId: string): Promise<SessionProofs | null> {
    const [row] = await db.query<SessionProofs>(
      `select password_proof_at as "passwordProofAt", factor_proof_at as "factorProofAt", now() as now
       from session_family where id = $1 and revoked_at is null`,
      [familyId],
    );
    return row ?? null;
  }

  /** Removes families whose end lies more than 30 days back, with their tokens. @returns how many */
  async purgeEnded(tx: SqlExecutor, limit: number): Promise<number> {
    const rows = await tx.query(
      `delete from session_family where id in (
         select id from session_family where absolute_expires_at < now() - interval '30 days' limit $1
       ) returning id`,
      [limit],
    );
    return rows.length;
  }
}

const asAddress = (address: string | null) => address?.slice(0, 45) ?? null;
const asAgent = (userAgent: string | null) => userAgent?.slice(0, 512) ?? null;
