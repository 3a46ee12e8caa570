import { organizationDirectoryTable, dropOrganizationDirectoryTable } from '@rmm/access';
import { dropMessagingTables, messagingTables } from '@rmm/messaging';
import {
  noLongerPartitioned,
  organizationRule,
  OWN_PARTNER,
  OWN_USER,
  partitionedByTime,
  partnerRule,
  tenantTable,
  type TenantTableOptions,
} from '@rmm/persistence';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { AUDIT_ENTRY, AUDIT_INDEXES, OWN_TABLES, TABLES } from './tables.js';

const SELF = `user_id = ${OWN_USER}`;
const EVERYTHING = ['select', 'insert', 'update', 'delete'] as const;

/** A person is seen by those who see one of its memberships (the sub-selects run under their policies), and by itself. */
const PERSON_IN_REACH = `case current_setting('rmm.scope', true) when 'system' then true else
  id = ${OWN_USER}
  or exists (select from partner_membership m where m.user_id = user_account.id)
  or exists (select from organization_membership m where m.user_id = user_account.id) end`;
/** As above without oneself: nobody makes or removes its own account. */
const PERSON_OF_OTHERS = `case current_setting('rmm.scope', true) when 'system' then true else
  id is distinct from ${OWN_USER} and (${PERSON_IN_REACH}) end`;

/** Seeded roles are everybody's to read; of the others partner roles are the partner's, organization roles that organization's. */
const OWN_ROLE = `case when org_id is null then (${partnerRule().read}) else (${organizationRule().read}) end`;
const READABLE_ROLE = `(partner_id is null and current_setting('rmm.scope', true) in ('system', 'partner', 'organization'))
  or (partner_id is not null and ${OWN_ROLE})`;
const WRITABLE_ROLE = `partner_id is not null and not is_system and ${OWN_ROLE}`;
const throughRole = (condition: string) =>
  `exists (select from role r where r.id = role_permission.role_id${condition})`;

/** Organization rows to whoever reaches the organization; partner-level rows to members who reach all of the partner. */
const AUDIT_IN_REACH = `(org_id is not null and (${organizationRule().read}))
  or current_setting('rmm.scope', true) = 'system'
  or (org_id is null and current_setting('rmm.scope', true) = 'partner'
      and current_setting('rmm.org_access', true) = 'all' and partner_id = ${OWN_PARTNER})`;

const ACCESS: readonly TenantTableOptions[] = [
  {
    table: 'partner',
    ownership: 'partner',
    columns: { partnerId: 'id' },
    service: ['select', 'update'],
    worker: ['select', 'insert'],
  },
  {
    table: 'organization_security_policy',
    ownership: 'organization',
    service: ['select', 'insert', 'update'],
    worker: ['select'],
  },
  {
    table: 'user_account',
    ownership: 'user',
    columns: { userId: 'id' },
    policies: {
      select: PERSON_IN_REACH,
      update: PERSON_IN_REACH,
      insert: PERSON_OF_OTHERS,
      delete: PERSON_OF_OTHERS,
    },
    service: ['select', 'update'],
    worker: ['select', 'insert', 'update'],
  },
  { table: 'permission', ownership: 'global', service: ['select'], worker: ['select', 'insert', 'update'] },
  {
    table: 'role',
    ownership: 'dual',
    policies: { select: READABLE_ROLE, insert: WRITABLE_ROLE, update: WRITABLE_ROLE, delete: WRITABLE_ROLE },
    service: EVERYTHING,
    worker: ['select', 'insert', 'update'],
  },
  {
    table: 'role_permission',
    ownership: 'dual',
    policies: {
      select: throughRole(''),
      insert: throughRole(' and not r.is_system'),
      update: throughRole(' and not r.is_system'),
      delete: throughRole(' and not r.is_system'),
    },
    service: ['select', 'insert', 'delete'],
    worker: ['select', 'insert', 'delete'],
  },
  {
    table: 'partner_membership',
    ownership: 'partner',
    policies: { select: `(${partnerRule().read}) or ${SELF}` },
    service: EVERYTHING,
    worker: ['select', 'insert'],
  },
  {
    table: 'organization_membership',
    ownership: 'organization',
    policies: { select: `(${organizationRule().read}) or ${SELF}` },
    service: EVERYTHING,
    worker: ['select', 'insert'],
  },
  { table: 'session_family', ownership: 'user', service: ['select', 'insert', 'update'], worker: EVERYTHING },
  { table: 'refresh_token', ownership: 'user', service: ['select', 'insert'], worker: EVERYTHING },
  { table: 'totp_factor', ownership: 'user', service: EVERYTHING, worker: ['select'] },
  { table: 'recovery_code', ownership: 'user', service: EVERYTHING, worker: ['select', 'delete'] },
  { table: 'link_token', ownership: 'worker-only', worker: EVERYTHING },
  { table: 'pending_registration', ownership: 'worker-only', worker: ['select', 'insert', 'delete'] },
  { table: 'signing_key', ownership: 'worker-only', worker: ['select', 'insert', 'update'] },
  { table: 'mail', ownership: 'worker-only', service: ['insert'], worker: EVERYTHING },
  { table: 'audit_head', ownership: 'worker-only', worker: ['select', 'insert', 'update'] },
];

/** Everything identity owns, on its first day. */
export class CreateIdentity1767225600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    for (const table of TABLES) await q.query(table);
    for (const access of ACCESS) await tenantTable(q, access);
    await this.makeAuditTrail(q);
    await messagingTables(q);
    await organizationDirectoryTable(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await dropOrganizationDirectoryTable(q);
    await dropMessagingTables(q);
    await noLongerPartitioned(q, 'audit_entry');
    await q.query(`drop table ${OWN_TABLES.join(', ')}`); // at once: policies of one table look at others
  }

  /** Append-only by privilege: no login of the service may change or remove a row. */
  private async makeAuditTrail(q: QueryRunner): Promise<void> {
    await q.query(AUDIT_ENTRY);
    for (const index of AUDIT_INDEXES) await q.query(index);
    await tenantTable(q, {
      table: 'audit_entry',
      ownership: 'dual',
      policies: { select: AUDIT_IN_REACH, insert: 'false', update: 'false', delete: 'false' },
      service: ['select'],
      worker: ['select', 'insert'],
    });
    await partitionedByTime(q, { table: 'audit_entry', column: 'timestamp', everyDays: 30, aheadDays: 60 });
  }
}
