import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { ERASING_SERVICES } from '@rmm/contracts';
import {
  tenantCondition,
  TenantDatabase,
  WorkerDatabase,
  type SqlExecutor,
  type TenantTransaction,
  type WorkerTransaction,
} from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import type { OrganizationStateRow } from '../organizations/organization.events.js';
import { RESTORE_DAYS } from '../organizations/organizations.repository.js';
import type { OrganizationErasurePart } from './organization-erasure-part.entity.js';
import type { OrganizationErasure } from './organization-erasure.entity.js';

/** The name of the row that remains. */
export const ERASED_NAME = 'Erased organization';

/** The part of the erasure that this service does itself. */
export const OWN_PART = 'provisioning';

/** The part of one service in the erasure of an organization. */
export type ErasurePart = Pick<OrganizationErasurePart, 'orgId' | 'partnerId' | 'service' | 'erased'>;

/** An erasure that has not begun has no parts. */
export interface ErasureView extends Pick<OrganizationErasure, 'orgId' | 'startedAt' | 'finishedAt'> {
  deletedAt: Date;
  requestedAt: Date | null;
  parts: (Pick<OrganizationErasurePart, 'service' | 'erased'> & { finishedAt: string | null })[];
}

/**
 * The tables whose rows are deleted in batches, in the order of their references. States, reports, group
 * memberships and versions go with their devices, groups and scripts.
 */
const TABLES = [
  'import_change',
  'import_run_row',
  'contact',
  'device',
  'device_group',
  'custom_field_definition',
  'script',
  'export_record',
  'site',
] as const;

const STATE = `o.id, o.partner_id AS "partnerId", o.name, o.slug, o.status, o.deleted_at AS "deletedAt", o.version`;
const IDS = `org_id AS "orgId", partner_id AS "partnerId"`;

/** Row locks keep an organization that is being restored; `restore` finds a marked one no more. */
const ADD_DUE = `
  WITH due AS (
    SELECT id FROM organization
     WHERE deleted_at <= now() - interval '${RESTORE_DAYS} days' AND erased_at IS NULL
     ORDER BY deleted_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED),
  marked AS (
    UPDATE organization o SET erased_at = now() FROM due WHERE o.id = due.id RETURNING o.id, o.partner_id)
  INSERT INTO organization_erasure (org_id, partner_id) SELECT id, partner_id FROM marked`;

const START = `
  WITH waiting AS (
    SELECT org_id FROM organization_erasure WHERE started_at IS NULL
     ORDER BY requested_at, org_id LIMIT :limit FOR UPDATE SKIP LOCKED)
  UPDATE organization_erasure e SET started_at = now(), announced_at = now() FROM waiting
   WHERE e.org_id = waiting.org_id
  RETURNING e.org_id AS "orgId"`;

const CLEAR = `
  UPDATE organization o
     SET name = '${ERASED_NAME}', name_key = lower('${ERASED_NAME}'), slug = o.id::text, settings = '{}',
         contract_start = NULL, contract_end = NULL, billing_contact = NULL, version = o.version + 1
   WHERE o.id = ANY (:orgIds::uuid[])
  RETURNING ${STATE}`;

/** The few rows that would let an import find the organization go at once. */
const ADD_PARTS = `
  WITH links AS (DELETE FROM external_link WHERE org_id = ANY (:orgIds::uuid[])),
       renames AS (DELETE FROM psa_proposal WHERE org_id = ANY (:orgIds::uuid[])),
       connections AS (DELETE FROM psa_connection WHERE org_id = ANY (:orgIds::uuid[])),
       policies AS (DELETE FROM organization_security WHERE org_id = ANY (:orgIds::uuid[]))
  INSERT INTO organization_erasure_part (org_id, partner_id, service)
  SELECT e.org_id, e.partner_id, s.name FROM organization_erasure e, unnest(:services::text[]) AS s(name)
   WHERE e.org_id = ANY (:orgIds::uuid[])`;

const CLAIM = `
  SELECT ${IDS}, service, erased FROM organization_erasure_part
   WHERE service = '${OWN_PART}' AND finished_at IS NULL AND NOT org_id = ANY (:skipped::uuid[])
   ORDER BY org_id LIMIT 1 FOR UPDATE SKIP LOCKED`;

const UNREPORTED = `
  UPDATE organization_erasure e SET announced_at = now() FROM (
    SELECT org_id FROM organization_erasure
     WHERE finished_at IS NULL AND announced_at < now() - make_interval(mins => :minutes)
     ORDER BY announced_at LIMIT :limit FOR UPDATE SKIP LOCKED) late
   WHERE e.org_id = late.org_id
  RETURNING e.org_id AS "orgId", e.partner_id AS "partnerId"`;

const FINISH_PART = `
  UPDATE organization_erasure_part SET finished_at = now(), erased = :erased
   WHERE org_id = :orgId AND partner_id = :partnerId AND service = :service AND finished_at IS NULL
  RETURNING 1 AS one`;

const FINISH = `
  UPDATE organization_erasure e SET finished_at = now()
   WHERE e.org_id = :orgId AND e.finished_at IS NULL
     AND NOT EXISTS (SELECT FROM organization_erasure_part p WHERE p.org_id = e.org_id AND p.finished_at IS NULL)
  RETURNING 1 AS one`;

const VIEW = `
  SELECT o.id AS "orgId", o.deleted_at AS "deletedAt", e.requested_at AS "requestedAt", e.started_at AS "startedAt",
         e.finished_at AS "finishedAt",
         coalesce((SELECT jsonb_agg(jsonb_build_object('service', p.service, 'erased', p.erased,
                            'finishedAt', p.finished_at) ORDER BY p.service)
                     FROM organization_erasure_part p WHERE p.org_id = o.id), '[]') AS parts
    FROM organization o LEFT JOIN organization_erasure e ON e.org_id = o.id
   WHERE o.id = :id AND o.deleted_at IS NOT NULL`;

/**
 * Erasures of deleted organizations, with what each service has erased. The steps use the worker login, across tenants:
 * there is no caller.
 */
@Injectable()
export class OrganizationErasuresRepository {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly tenants: TenantDatabase,
  ) {}

  /** Runs one step in a transaction. */
  transaction<T>(work: (tx: WorkerTransaction) => Promise<T>): Promise<T> {
    return this.worker.transaction(work);
  }

  /** Returns the erasure of a deleted organization. @throws NotFoundError */
  async get(caller: Caller, id: string): Promise<ErasureView> {
    const { sql, params } = tenantCondition(caller, 'organization', 'o');
    const condition = sql.replaceAll('o.org_id', 'o.id'); // the organization is its own row
    const [view] = await this.tenants.read<ErasureView>(caller, `${VIEW} AND ${condition}`, { ...params, id });
    if (!view) throw new NotFoundError('Organization');
    return view;
  }

  /** Has an organization erased that the caller has locked. */
  async request(tx: TenantTransaction, { id, partnerId }: { id: string; partnerId: string }): Promise<void> {
    await tx.query('INSERT INTO organization_erasure (org_id, partner_id) VALUES (:id, :partnerId)', { id, partnerId });
  }

  /**
   * Begins with the organizations that can no longer be restored, and the requested ones.
   * @returns their state, without data of the customer
   */
  async start(tx: SqlExecutor, limit: number): Promise<OrganizationStateRow[]> {
    await tx.query(ADD_DUE, { limit });
    const orgIds = (await tx.query<{ orgId: string }>(START, { limit })).map(({ orgId }) => orgId);
    if (orgIds.length === 0) return [];
    await tx.query(ADD_PARTS, { orgIds, services: [OWN_PART, ...ERASING_SERVICES] });
    return tx.query<OrganizationStateRow>(CLEAR, { orgIds });
  }

  /** Returns the erasures some service has not reported for a while, as if they were announced now. */
  listUnreported(tx: SqlExecutor, minutes: number, limit: number): Promise<{ orgId: string; partnerId: string }[]> {
    return tx.query(UNREPORTED, { minutes, limit });
  }

  /** Locks a part of this service that no other replica works on; null when there is none. @param skipped  organizations to leave out */
  async claim(tx: SqlExecutor, skipped: readonly string[] = []): Promise<ErasurePart | null> {
    const [part] = await tx.query<ErasurePart>(CLAIM, { skipped });
    return part ?? null;
  }

  /** Deletes up to a number of records. @returns false when none was left */
  async eraseBatch(tx: SqlExecutor, { orgId, erased }: ErasurePart, limit: number): Promise<boolean> {
    for (const table of TABLES) {
      const rows = await tx.query(
        `DELETE FROM ${table} WHERE ctid IN (SELECT ctid FROM ${table} WHERE org_id = :orgId LIMIT :limit) RETURNING 1 AS one`,
        { orgId, limit },
      );
      if (rows.length === 0) continue;
      const counts = JSON.stringify({ ...erased, [table]: (erased[table] ?? 0) + rows.length });
      await tx.query(
        `UPDATE organization_erasure_part SET erased = :counts WHERE org_id = :orgId AND service = '${OWN_PART}'`,
        { orgId, counts },
      );
      return true;
    }
    return false;
  }

  /**
   * Ends the part of a service, once. The row of the erasure is locked, so that of two last parts one sees the other.
   * @returns whether the part was open; and whether it was the last one
   */
  async finishPart(tx: SqlExecutor, part: ErasurePart): Promise<{ recorded: boolean; isLast: boolean }> {
    const { orgId, partnerId, service } = part;
    await tx.query('SELECT FROM organization_erasure WHERE org_id = :orgId FOR UPDATE', { orgId });
    const erased = JSON.stringify(part.erased);
    const recorded = (await tx.query(FINISH_PART, { orgId, partnerId, service, erased })).length > 0;
    const isLast = recorded && (await tx.query(FINISH, { orgId })).length > 0;
    return { recorded, isLast };
  }

  /** Returns what each service has erased. */
  listErased(tx: SqlExecutor, orgId: string): Promise<Pick<OrganizationErasurePart, 'service' | 'erased'>[]> {
    const sql = 'SELECT service, erased FROM organization_erasure_part WHERE org_id = :orgId ORDER BY service';
    return tx.query(sql, { orgId });
  }
}
