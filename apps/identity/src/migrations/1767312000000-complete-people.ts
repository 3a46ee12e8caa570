import { tenantTable, workerMay, workerMayNot, type Privilege } from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whoever sees a person sees its picture; only the person changes it. */
const VISIBLE_PERSON = 'exists (select from user_account u where u.id = avatar.user_id)';

const WORKER_ALSO: readonly [table: string, privileges: Privilege[]][] = [
  ['organization_security_policy', ['insert', 'update']],
  ['totp_factor', ['update', 'delete']],
];

/** Avatars, known devices, reminder mails, and what the worker needs to reset factors and store policies. */
export class CompletePeople1767312000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`
      create table avatar (
        user_id uuid primary key references user_account (id) on delete cascade,
        mime text not null check (mime in ('image/png', 'image/jpeg', 'image/webp')),
        bytes bytea not null check (octet_length(bytes) <= 5242880),
        etag text not null,
        updated_at timestamptz not null default now()
      )`);
    await tenantTable(q, {
      table: 'avatar',
      ownership: 'user',
      policies: { select: VISIBLE_PERSON },
      service: ['select', 'insert', 'update', 'delete'],
    });
    await q.query(`
      create table known_device (
        user_id uuid not null references user_account (id) on delete cascade,
        fingerprint bytea not null,
        first_seen_at timestamptz not null default now(),
        last_seen_at timestamptz not null default now(),
        primary key (user_id, fingerprint)
      )`);
    await tenantTable(q, {
      table: 'known_device',
      ownership: 'worker-only',
      worker: ['select', 'insert', 'update', 'delete'],
    });
    await q.query(`
      alter table user_account
        add column mfa_opening_mail_at timestamptz,
        add column mfa_ending_mail_at timestamptz`);
    await q.query(`
      create index user_account_mfa_deadline_idx on user_account (mfa_enrollment_deadline)
        where first_factor_at is null and mfa_ending_mail_at is null`);
    for (const [table, privileges] of WORKER_ALSO) await workerMay(q, table, privileges);
  }

  async down(q: QueryRunner): Promise<void> {
    for (const [table, privileges] of WORKER_ALSO) await workerMayNot(q, table, privileges);
    await q.query('drop index user_account_mfa_deadline_idx');
    await q.query('alter table user_account drop column mfa_opening_mail_at, drop column mfa_ending_mail_at');
    await q.query('drop table known_device, avatar');
  }
}
