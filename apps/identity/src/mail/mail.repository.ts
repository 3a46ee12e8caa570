import { Injectable } from '@nestjs/common';
import type { MailAudience } from '@rmm/contracts';
import { hasPermission, parsePermission, type Permission } from '@rmm/permissions';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';
import { permissionsOfRole } from '../roles/roles.repository.js';
import type { Mail } from './mail.entity.js';

export type NewMailRow = Pick<Mail, 'id' | 'recipient' | 'template' | 'locale' | 'idempotencyKey'> & {
  valuesSealed: string;
};

export type LeasedMail = Pick<Mail, 'id' | 'recipient' | 'locale' | 'attempts'> & {
  /** Any text: an older version may have stored it. */
  template: string;
  valuesSealed: string;
};

export interface Addressee {
  email: string;
  name: string;
}

interface MemberRow extends Addressee {
  permissions: Permission[];
}

/** The mails that wait for an attempt. */
export interface MailBacklog {
  waiting: number;
  /** 0 when no attempt is due. */
  oldestDueSeconds: number;
}

const LEASE = '2 minutes';
const MAX_ATTEMPTS = 8;

const INSERT = `
  INSERT INTO mail (id, recipient, template, locale, values_sealed, idempotency_key)
  VALUES (:id, :recipient, :template, :locale, :valuesSealed, :idempotencyKey)`;

/** The locale the recipient chose, else that of the partner of its first membership, else of the partner that invited it. */
const LOCALE_OF_RECIPIENT = `
  SELECT coalesce(u.preferences ->> 'locale', (
    SELECT p.settings ->> 'locale' FROM (
      SELECT partner_id, 1 AS rank, created_at FROM organization_membership WHERE user_id = u.id
      UNION ALL SELECT partner_id, 2, created_at FROM partner_membership WHERE user_id = u.id
      UNION ALL SELECT partner_id, 3, created_at FROM invitation WHERE user_id = u.id AND accepted_at IS NULL
    ) m JOIN partner p ON p.id = m.partner_id ORDER BY m.rank, m.created_at LIMIT 1))
  FROM user_account u WHERE u.email = mail.recipient`;

/**
 * Stores mails and finds their recipients. Mails are inserted in the transaction of the change they report; all else runs
 * under the worker login. SQL, because mails are leased and scheduled by the database clock.
 */
@Injectable()
export class MailRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /**
   * Stores a mail.
   * @returns false when one with its idempotency key is stored already; keys need the worker's transaction, because the
   *   service login may insert mails but not read them
   */
  async insert(tx: SqlExecutor, mail: NewMailRow): Promise<boolean> {
    if (mail.idempotencyKey === null) {
      await tx.query(INSERT, mail);
      return true;
    }
    const rows = await tx.query(`${INSERT} ON CONFLICT (idempotency_key) DO NOTHING RETURNING id`, mail);
    return rows.length === 1;
  }

  /** Stores mails that have no idempotency key. */
  async insertAll(tx: SqlExecutor, mails: readonly NewMailRow[]): Promise<void> {
    await tx.query(
      `INSERT INTO mail (id, recipient, template, locale, values_sealed)
       SELECT id, recipient, template, locale, "valuesSealed" FROM jsonb_to_recordset(:mails::jsonb)
         AS m (id uuid, recipient text, template text, locale text, "valuesSealed" text)`,
      { mails: JSON.stringify(mails) },
    );
  }

  /** Leases a mail that is due for two minutes; null when it was sent, given up, or is leased by another worker. */
  async lease(id: string): Promise<LeasedMail | null> {
    const [row] = await this.worker.query<LeasedMail>(
      `UPDATE mail SET attempts = attempts + 1, next_attempt_at = now() + INTERVAL '${LEASE}'
       WHERE id = :id AND sent_at IS NULL AND abandoned_at IS NULL AND next_attempt_at <= now()
       RETURNING id, recipient, template, coalesce(nullif(locale, ''), (${LOCALE_OF_RECIPIENT}), 'en') AS locale,
         values_sealed AS "valuesSealed", attempts`,
      { id },
    );
    return row ?? null;
  }

  /** Marks a mail as sent and deletes its values, which may contain links. */
  async markSent(id: string): Promise<void> {
    await this.worker.query('UPDATE mail SET sent_at = now(), values_sealed = NULL, last_error = NULL WHERE id = :id', {
      id,
    });
  }

  /** Schedules the next attempt after 10, 40, 90 ... seconds. @returns true when it gives up, after the eighth */
  async markFailed(id: string, error: string): Promise<boolean> {
    const [row] = await this.worker.query<{ abandoned: boolean }>(
      `UPDATE mail SET last_error = :error, next_attempt_at = now() + make_interval(secs => attempts * attempts * 10),
         abandoned_at = CASE WHEN attempts >= ${MAX_ATTEMPTS} THEN now() END
       WHERE id = :id RETURNING abandoned_at IS NOT NULL AS abandoned`,
      { id, error: error.slice(0, 500) },
    );
    return row?.abandoned ?? false;
  }

  /** Lists the ids of mails that are due, at most `limit`. */
  async listDue(limit: number): Promise<string[]> {
    const rows = await this.worker.query<{ id: string }>(
      `SELECT id FROM mail WHERE sent_at IS NULL AND abandoned_at IS NULL AND next_attempt_at <= now()
       ORDER BY next_attempt_at LIMIT :limit`,
      { limit },
    );
    return rows.map(({ id }) => id);
  }

  async readBacklog(): Promise<MailBacklog> {
    const [row] = await this.worker.query<MailBacklog>(
      `SELECT count(*)::int AS waiting,
         coalesce(greatest(0, extract(epoch FROM now() - min(next_attempt_at))), 0)::float8 AS "oldestDueSeconds"
       FROM mail WHERE sent_at IS NULL AND abandoned_at IS NULL`,
    );
    return row;
  }

  /** Deletes up to `limit` mails that were sent or given up and are a week old. */
  async purge(limit: number): Promise<void> {
    await this.worker.query(
      `DELETE FROM mail WHERE id IN (
         SELECT id FROM mail WHERE created_at < now() - INTERVAL '7 days'
           AND (sent_at IS NOT NULL OR abandoned_at IS NOT NULL) LIMIT :limit)`,
      { limit },
    );
  }

  /** Lists the organization's active members with the permission; the partner's administrators without any, or without organization. */
  async listAudience({ partnerId, orgId, permission }: MailAudience): Promise<Addressee[]> {
    if (orgId === null) return this.listPartnerAdmins(partnerId);
    const required = parsePermission(permission);
    const members = await this.listMembers(partnerId, orgId);
    const permitted = members.filter(({ permissions }) => required && hasPermission(permissions, required));
    if (permitted.length > 0) return permitted.map(({ email, name }) => ({ email, name }));
    return this.listPartnerAdmins(partnerId);
  }

  private listMembers(partnerId: string, orgId: string): Promise<MemberRow[]> {
    return this.worker.query(
      `SELECT u.email, u.name, ${permissionsOfRole('m.role_id')} AS permissions
       FROM organization_membership m JOIN user_account u ON u.id = m.user_id
       WHERE m.partner_id = :partnerId AND m.org_id = :orgId AND u.status = 'active'
       ORDER BY u.email`,
      { partnerId, orgId },
    );
  }

  private listPartnerAdmins(partnerId: string): Promise<Addressee[]> {
    return this.worker.query(
      `SELECT DISTINCT u.email, u.name
       FROM partner_membership m JOIN user_account u ON u.id = m.user_id JOIN role r ON r.id = m.role_id
       WHERE m.partner_id = :partnerId AND r.system_key = 'partner_admin' AND u.status = 'active'
       ORDER BY u.email`,
      { partnerId },
    );
  }
}
