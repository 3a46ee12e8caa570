import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';

export interface PendingRegistration {
  companyName: string;
  email: string;
  name: string;
  passwordHash: string;
  ipAddress: string | null;
  userAgent: string | null;
}

/** Sign-ups between form and mail, under the worker login. */
@Injectable()
export class RegistrationsRepository {
  /** Kept for one hour. No look-up: what is stored says nothing about accounts. */
  async park(tx: SqlExecutor, tokenHash: Buffer, pending: PendingRegistration): Promise<void> {
    await tx.query(
      `insert into pending_registration
         (token_hash, company_name, email, name, password_hash, ip_address, user_agent, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7, now() + interval '1 hour')`,
      [
        tokenHash,
        pending.companyName,
        pending.email,
        pending.name,
        pending.passwordHash,
        pending.ipAddress,
        pending.userAgent,
      ],
    );
  }

  /** Takes a sign-up out: for exactly one caller, and only while it is good. */
  async take(tx: SqlExecutor, tokenHash: Buffer): Promise<PendingRegistration | null> {
    const [row] = await tx.query<PendingRegistration>(
      `delete from pending_registration where token_hash = $1 and expires_at > now()
       returning company_name as "companyName", email, name, password_hash as "passwordHash",
         ip_address as "ipAddress", user_agent as "userAgent"`,
      [tokenHash],
    );
    return row ?? null;
  }

  /** @returns the new account's id, or null when the address is taken */
  async insertUser(tx: SqlExecutor, { email, name, passwordHash }: PendingRegistration): Promise<string | null> {
    const [row] = await tx.query<{ id: string }>(
      `insert into user_account (email, name, password_hash, status, email_verified_at, password_changed_at)
       values ($1, $2, $3, 'active', now(), now()) on conflict (email) do nothing returning id`,
      [email, name, passwordHash],
    );
    return row?.id ?? null;
  }

  async purgeExpired(db: SqlExecutor): Promise<void> {
    await db.query('delete from pending_registration where expires_at < now()');
  }
}
