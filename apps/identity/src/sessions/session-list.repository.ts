import { Injectable } from '@nestjs/common';
import { TenantDatabase, type SqlExecutor } from '@rmm/persistence';
import type { UserCaller } from '@rmm/access';
import type { PageQueryDto } from '@rmm/service-kit';
import type { MembershipKey } from '../members/membership.js';
import type { RevokedReason, SessionMethod } from './sessions.repository.js';

/** A live session as it is listed. Times are ISO texts of PostgreSQL. */
export interface ListedSession extends MembershipKey {
  id: string;
  ipAddress: string | null;
  userAgent: string | null;
  method: SessionMethod;
  mfa: boolean;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
}

/** Not revoked, not past its end, of the present epochs, and with a token that can still be refreshed. */
const LIVE = `
  select f.id, f.ip_address as "ipAddress", f.user_agent as "userAgent", f.method, f.mfa, f.created_at as "createdAt",
    f.last_used_at as "lastUsedAt", least(f.absolute_expires_at, t.ends_at) as "expiresAt", f.scope,
    f.partner_id as "partnerId", f.org_id as "orgId"
  from session_family f
  join user_account u on u.id = f.user_id and u.auth_epoch = f.auth_epoch and u.mfa_epoch = f.mfa_epoch
  cross join lateral (
    select max(expires_at) as ends_at from refresh_token where family_id = f.id and rotated_at is null
  ) t
  where f.user_id = $1 and f.revoked_at is null and f.absolute_expires_at > now() and t.ends_at > now()`;

/** The sessions of the caller, under row-level security and never anybody else's. */
@Injectable()
export class SessionListRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Newest first. */
  async page(
    caller: UserCaller,
    { page, limit }: Pick<PageQueryDto, 'page' | 'limit'>,
  ): Promise<{ total: number; rows: ListedSession[] }> {
    const [found] = await this.tenants.read<{ total: number; rows: ListedSession[] }>(
      caller,
      `with live as (${LIVE}),
         shown as (select * from live order by "createdAt" desc, id desc limit $2 offset $3)
       select (select count(*)::integer from live) as total,
         coalesce((select json_agg(s order by s."createdAt" desc, s.id desc) from shown s), '[]') as rows`,
      [caller.userId, limit, (page - 1) * limit],
    );
    return found ?? { total: 0, rows: [] };
  }

  /** False when the user has no such living session. */
  async end(tx: SqlExecutor, userId: string, familyId: string, reason: RevokedReason): Promise<boolean> {
    const rows = await tx.query(
      `update session_family set revoked_at = now(), revoked_reason = $3
       where id = $2 and user_id = $1 and revoked_at is null and absolute_expires_at > now() returning id`,
      [userId, familyId, reason],
    );
    return rows.length === 1;
  }

  /** Ends every session of the user but one. @returns how many were alive */
  async endOthers(tx: SqlExecutor, userId: string, keptId: string, reason: RevokedReason): Promise<number> {
    const rows = await tx.query(
      `update session_family set revoked_at = now(), revoked_reason = $3
       where user_id = $1 and id <> $2 and revoked_at is null and absolute_expires_at > now() returning id`,
      [userId, keptId, reason],
    );
    return rows.length;
  }
}
