import { Injectable } from '@nestjs/common';
import type { TenantTransaction } from '@rmm/persistence';
import { groupBy } from '../../import/group-by.js';
import type { OrganizationStateRow } from '../../organizations/organization.events.js';
import type { SiteStateRow } from '../../sites/site.events.js';
import type { JournalScope } from '../journal/import-change.types.js';
import { contactDigest, organizationDigest, siteDigest } from '../journal/record-digest.repository.js';
import type {
  ChangeOutcome,
  CurrentContact,
  CurrentOrganization,
  CurrentSite,
  LinkKey,
  OpenChange,
  UndoPlan,
} from './undo-plan.types.js';

/** The rows as stored after an undo, for events and audit entries. */
export interface UndoneRows {
  /** Removed ones and those deleted again. */
  organizations: OrganizationStateRow[];
  removedSites: SiteStateRow[];
  restoredSites: SiteStateRow[];
}

const OPEN_CHANGES = `
  SELECT c.seq, c.org_id AS "orgId", c.resource, c.action, c.record_id AS "recordId", c.before, c.after,
         c.digest_before AS "digestBefore", c.digest_after AS "digestAfter"
    FROM import_change c
   WHERE c.run_id = :runId AND c.partner_id = :partnerId AND c.outcome IS NULL`;

/** Locked against new records that refer to them. */
const LOCK_ORGANIZATIONS = `
  SELECT FROM organization o WHERE o.partner_id = :partnerId AND o.id = ANY (:orgIds::uuid[]) ORDER BY o.id FOR UPDATE`;

const ORGANIZATIONS = `
  SELECT o.id, ${organizationDigest('o')} AS digest, o.deleted_at IS NOT NULL AS "isDeleted"
    FROM organization o WHERE o.partner_id = :partnerId AND o.id = ANY (:orgIds::uuid[])`;

/** The organizations that have records other than their sites and links. */
const USED_ORGANIZATIONS = `
  SELECT d.org_id AS id FROM device d WHERE d.org_id = ANY (:orgIds::uuid[])
  UNION SELECT g.org_id FROM device_group g WHERE g.org_id = ANY (:orgIds::uuid[]) AND g.deleted_at IS NULL
  UNION SELECT c.org_id FROM contact c WHERE c.org_id = ANY (:orgIds::uuid[])
  UNION SELECT p.org_id FROM psa_connection p WHERE p.org_id = ANY (:orgIds::uuid[])
  UNION SELECT p.org_id FROM organization_security p WHERE p.org_id = ANY (:orgIds::uuid[])`;

const SITES_OF_ORGANIZATIONS = `
  SELECT s.org_id AS "orgId", s.id, ${siteDigest('s')} AS digest FROM site s
   WHERE s.org_id = ANY (:orgIds::uuid[]) AND s.deleted_at IS NULL`;

const LINKS_OF_ORGANIZATIONS = `
  SELECT l.org_id AS "orgId", l.system, l.external_id AS "externalId", l.connection_id AS "connectionId"
    FROM external_link l WHERE l.org_id = ANY (:orgIds::uuid[])`;

/** The changes that reactivated an organization in which a record was created since. */
const USED_SINCE = `
  SELECT i.org_id AS "orgId", i.seq FROM import_change i
    JOIN (
      SELECT n.org_id, max(n.created_at) AS created_at FROM (
          SELECT d.org_id, d.created_at FROM device d WHERE d.org_id = ANY (:orgIds::uuid[])
          UNION ALL SELECT g.org_id, g.created_at FROM device_group g
            WHERE g.org_id = ANY (:orgIds::uuid[]) AND g.deleted_at IS NULL
          UNION ALL SELECT c.org_id, c.created_at FROM contact c WHERE c.org_id = ANY (:orgIds::uuid[])
          UNION ALL SELECT s.org_id, s.created_at FROM site s
            WHERE s.org_id = ANY (:orgIds::uuid[]) AND s.deleted_at IS NULL) n
       GROUP BY n.org_id) newest ON newest.org_id = i.org_id AND newest.created_at > i.recorded_at
   WHERE i.run_id = :runId AND i.org_id = ANY (:orgIds::uuid[]) AND i.action = 'reactivate' AND i.outcome IS NULL`;

const SITES = `
  SELECT s.id, ${siteDigest('s')} AS digest, s.deleted_at IS NOT NULL AS "isDeleted",
         s.id IN (
           SELECT c.site_id FROM site_count c WHERE c.site_id = ANY (:ids::uuid[]) AND c.devices > 0
           UNION SELECT g.site_id FROM device_group g WHERE g.site_id = ANY (:ids::uuid[]) AND g.deleted_at IS NULL
           UNION SELECT c.site_id FROM contact c WHERE c.site_id = ANY (:ids::uuid[])) AS "isUsed"
    FROM site s WHERE s.partner_id = :partnerId AND s.id = ANY (:ids::uuid[])`;

const CONTACTS = `
  SELECT c.id, ${contactDigest('c')} AS digest FROM contact c WHERE c.partner_id = :partnerId AND c.id = ANY (:ids::uuid[])
   ORDER BY c.id FOR UPDATE`;

const ORGANIZATION_STATE = `o.id, o.partner_id AS "partnerId", o.name, o.slug, o.status, o.deleted_at AS "deletedAt", o.version`;
const SITE_STATE = `s.id, s.org_id AS "orgId", s.partner_id AS "partnerId", s.name, s.deleted_at AS "deletedAt", s.version`;

/**
 * The rows to write are found by lists of ids, and their former values in an object by id. A join may be planned for the few
 * rows that old statistics know of a partner or run, and compare each of its rows with each one to write.
 */
const REMOVE_ORGANIZATIONS = `
  UPDATE organization o SET deleted_at = now(), import_undone = true, version = o.version + 1
   WHERE o.partner_id = :partnerId AND o.id = ANY (:ids::uuid[])
  RETURNING ${ORGANIZATION_STATE}`;

const DELETE_ORGANIZATIONS = `
  UPDATE organization o
     SET version = o.version + 1, (deleted_at, slug, status) = (
           SELECT r."deletedAt", r.slug, r.status
             FROM jsonb_to_record(:rows::jsonb -> o.id::text) AS r("deletedAt" timestamptz, slug text, status text))
   WHERE o.partner_id = :partnerId AND o.id = ANY (:ids::uuid[])
  RETURNING ${ORGANIZATION_STATE}`;

const LINKS = `jsonb_to_recordset(:rows::jsonb)
  AS r("orgId" uuid, "formerOrgId" uuid, system text, "externalId" text, "connectionId" uuid)`;
/** `LIMIT` keeps the links from being joined: each is found by its key. */
const SAME_LINK = `LATERAL (
  SELECT l.id FROM external_link l
   WHERE l.partner_id = :partnerId AND l.org_id = r."orgId" AND l.system = r.system
     AND l.external_id = r."externalId" AND l.connection_id IS NOT DISTINCT FROM r."connectionId" LIMIT 1) AS same`;

const REMOVE_LINKS = `
  DELETE FROM external_link l WHERE l.id = ANY (ARRAY (SELECT same.id FROM ${LINKS} CROSS JOIN ${SAME_LINK}))`;

/** An organization that was erased in the meantime does not get its link back: such a link stays and is removed next. */
const MOVE_LINKS = `
  WITH moved AS (
    SELECT same.id, r."formerOrgId" FROM ${LINKS} CROSS JOIN ${SAME_LINK}
     WHERE r."formerOrgId" IN (
       SELECT o.id FROM organization o WHERE o.id = ANY (:formerOrgIds::uuid[]) AND o.erased_at IS NULL))
  UPDATE external_link l SET org_id = moved."formerOrgId" FROM moved
   WHERE l.id = ANY (ARRAY (SELECT id FROM moved)) AND l.id = moved.id`;

const REMOVE_SITES = `
  UPDATE site s SET deleted_at = now(), version = s.version + 1
   WHERE s.partner_id = :partnerId AND s.id = ANY (:ids::uuid[])
  RETURNING ${SITE_STATE}`;

const RESTORE_SITES = `
  UPDATE site s
     SET version = s.version + 1, (timezone, address, contact) = (
           SELECT r.timezone, r.address, r.contact
             FROM jsonb_to_record(:rows::jsonb -> s.id::text) AS r(timezone text, address jsonb, contact jsonb))
   WHERE s.partner_id = :partnerId AND s.id = ANY (:ids::uuid[])
  RETURNING ${SITE_STATE}`;

const REMOVE_CONTACTS = `DELETE FROM contact c WHERE c.partner_id = :partnerId AND c.id = ANY (:ids::uuid[])`;

const RESTORE_CONTACTS = `
  UPDATE contact c
     SET (site_id, name, name_key, email, phone, mobile, title, roles) = (
           SELECT r."siteId", r.name, r."nameKey", r.email, r.phone, r.mobile, r.title,
                  ARRAY(SELECT jsonb_array_elements_text(r.roles))
             FROM jsonb_to_record(:rows::jsonb -> c.id::text)
               AS r("siteId" uuid, name text, "nameKey" text, email text, phone text, mobile text, title text, roles jsonb))
   WHERE c.partner_id = :partnerId AND c.id = ANY (:ids::uuid[])`;

const REMOVE_CONTACT_LINKS = `
  DELETE FROM contact_link l
   USING jsonb_to_recordset(:rows::jsonb) AS r("orgId" uuid, "contactId" uuid, system text, "externalId" text)
   WHERE l.partner_id = :partnerId AND l.contact_id = ANY (:contactIds::uuid[]) AND l.contact_id = r."contactId"
     AND l.org_id = r."orgId" AND l.system = r.system AND l.external_id = r."externalId"`;

/** Bounded, since old statistics would have all changes of the run read. */
const SETTLE = `
  UPDATE import_change c SET outcome = :outcome, reason = :reason
   WHERE c.run_id = :runId AND c.partner_id = :partnerId
     AND c.seq BETWEEN (SELECT min(seq) FROM unnest(:seqs::bigint[]) seq) AND (SELECT max(seq) FROM unnest(:seqs::bigint[]) seq)
     AND c.seq = ANY (:seqs::bigint[])`;

interface OfOrganization {
  orgId: string;
}

/** Reads the journal of a run and restores former values, with a fixed number of statements for each set of changes. */
@Injectable()
export class UndoRepository {
  /** Returns all open changes of the next organizations, in their order; about `limit`, at least those of one. */
  async listOpen(tx: TenantTransaction, scope: JournalScope, limit: number): Promise<OpenChange[]> {
    const { runId, partnerId } = scope;
    const found = await tx.query<OpenChange>(`${OPEN_CHANGES} ORDER BY c.org_id, c.seq LIMIT :limit`, {
      ...{ runId, partnerId, limit },
    });
    const last = found.at(-1)?.orgId;
    if (found.length < limit || last === undefined) return found;
    const complete = found.filter(({ orgId }) => orgId !== last);
    if (complete.length > 0) return complete;
    return tx.query<OpenChange>(`${OPEN_CHANGES} AND c.org_id = :orgId ORDER BY c.seq`, {
      ...{ runId, partnerId, orgId: last },
    });
  }

  /** Locks and reads the records that the changes are about. */
  async loadCurrent(tx: TenantTransaction, { runId, partnerId }: JournalScope, changes: readonly OpenChange[]) {
    await tx.query(LOCK_ORGANIZATIONS, { partnerId, orgIds: idsOfOrganizations(changes) });
    const organizations = await this.loadOrganizations(tx, { runId, partnerId }, changes);
    const contactIds = idsOf(changes, 'contact', 'contact_link');
    const contacts =
      contactIds.length === 0 ? [] : await tx.query<CurrentContact>(CONTACTS, { partnerId, ids: contactIds });
    const formerSites = changes.flatMap(({ resource, before }) =>
      resource === 'contact' && typeof before?.['siteId'] === 'string' ? before['siteId'] : [],
    );
    const siteIds = [...idsOf(changes, 'site'), ...formerSites];
    const sites = siteIds.length === 0 ? [] : await tx.query<CurrentSite>(SITES, { partnerId, ids: siteIds });
    return { organizations, contacts, sites };
  }

  /**
   * Reads each kind of records once for all organizations. A look-up for each of them would be planned as a scan that ends
   * early where one organization has most rows of a table, and read the whole table each time.
   */
  private async loadOrganizations(
    tx: TenantTransaction,
    { runId, partnerId }: JournalScope,
    changes: readonly OpenChange[],
  ): Promise<CurrentOrganization[]> {
    const orgIds = idsOfOrganizations(changes);
    const reactivatedIds = idsOfOrganizations(changes.filter(({ action }) => action === 'reactivate'));
    const [organizations, used, sites, links, usedSince] = await Promise.all([
      tx.query<Pick<CurrentOrganization, 'id' | 'digest' | 'isDeleted'>>(ORGANIZATIONS, { partnerId, orgIds }),
      tx.query<{ id: string }>(USED_ORGANIZATIONS, { orgIds }),
      tx.query<CurrentOrganization['sites'][number] & OfOrganization>(SITES_OF_ORGANIZATIONS, { orgIds }),
      tx.query<LinkKey & OfOrganization>(LINKS_OF_ORGANIZATIONS, { orgIds }),
      reactivatedIds.length === 0
        ? []
        : tx.query<{ seq: string } & OfOrganization>(USED_SINCE, { runId, orgIds: reactivatedIds }),
    ]);
    const usedIds = new Set(used.map(({ id }) => id));
    const [sitesOf, linksOf] = [groupBy(sites, orgIdOf), groupBy(links, orgIdOf)];
    const changesOf = groupBy(usedSince, orgIdOf);
    return organizations.map((organization) => ({
      ...organization,
      isUsed: usedIds.has(organization.id),
      sites: sitesOf.get(organization.id) ?? [],
      links: linksOf.get(organization.id) ?? [],
      usedSince: (changesOf.get(organization.id) ?? []).map(({ seq }) => seq),
    }));
  }

  /** Writes the plan: records that refer to others first. */
  async apply(tx: TenantTransaction, { partnerId }: JournalScope, plan: UndoPlan): Promise<UndoneRows> {
    const write = <Row>(sql: string, rows: readonly unknown[], params: Record<string, unknown>): Promise<Row[]> =>
      rows.length === 0 ? Promise.resolve([]) : tx.query<Row>(sql, { partnerId, ...params });
    const remove = <Row>(sql: string, ids: readonly string[]) => write<Row>(sql, ids, { ids });
    const restore = <Row>(sql: string, rows: readonly { id: string }[]) =>
      write<Row>(sql, rows, {
        ids: rows.map(({ id }) => id),
        rows: JSON.stringify(Object.fromEntries(rows.map((row) => [row.id, row]))),
      });
    const save = (sql: string, rows: readonly object[], lists: Record<string, string[]> = {}) =>
      write(sql, rows, { rows: JSON.stringify(rows), ...lists });
    const { removedContactLinks, movedLinks } = plan;
    await save(REMOVE_CONTACT_LINKS, removedContactLinks, {
      contactIds: removedContactLinks.map(({ contactId }) => contactId),
    });
    await remove(REMOVE_CONTACTS, plan.removedContacts);
    await restore(RESTORE_CONTACTS, plan.restoredContacts);
    await save(REMOVE_LINKS, plan.removedLinks);
    await save(MOVE_LINKS, movedLinks, { formerOrgIds: movedLinks.map(({ formerOrgId }) => formerOrgId) });
    await save(REMOVE_LINKS, movedLinks); // those that stayed: their key would refuse the next import of the same id
    const removedSites = await remove<SiteStateRow>(REMOVE_SITES, plan.removedSites);
    const restoredSites = await restore<SiteStateRow>(RESTORE_SITES, plan.restoredSites);
    const removed = await remove<OrganizationStateRow>(REMOVE_ORGANIZATIONS, plan.removedOrganizations);
    const deleted = await restore<OrganizationStateRow>(DELETE_ORGANIZATIONS, plan.deletedOrganizations);
    return { organizations: [...removed, ...deleted], removedSites, restoredSites };
  }

  /** Stores what became of each change, the changes with the same outcome by one statement. */
  async settle(
    tx: TenantTransaction,
    { runId, partnerId }: JournalScope,
    outcomes: readonly ChangeOutcome[],
  ): Promise<void> {
    for (const same of groupBy(outcomes, ({ outcome, reason }) => `${outcome} ${reason}`).values()) {
      const [{ outcome, reason }] = same as [ChangeOutcome];
      await tx.query(SETTLE, { runId, partnerId, outcome, reason, seqs: same.map(({ seq }) => seq) });
    }
  }
}

const idsOf = (changes: readonly OpenChange[], ...resources: OpenChange['resource'][]): string[] => [
  ...new Set(changes.filter(({ resource }) => resources.includes(resource)).map(({ recordId }) => recordId)),
];

const orgIdOf = ({ orgId }: OfOrganization): string => orgId;

function idsOfOrganizations(changes: readonly OpenChange[]): string[] {
  return [...new Set(changes.map(({ orgId }) => orgId))];
}
