import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { organizationDigest, siteDigest } from '../import-runs/journal/record-digest.repository.js';
import type { OrganizationStateRow } from '../organizations/organization.events.js';
import { OrganizationsRepository } from '../organizations/organizations.repository.js';
import type { SiteStateRow } from '../sites/site.events.js';
import type {
  GroupWrites,
  NewLink,
  NewOrganization,
  NewSite,
  ReactivatedOrganization,
  SitePatch,
} from './import-changes.js';
import type { ImportRow } from './import-rows.js';
import type { ImportState, KnownOrganization } from './import-state.types.js';
import type { NameSlugs } from './name-slugs.js';

/** The partner to whom organizations are added, and the PSA connection whose companies they are, if any. */
export interface ImportTarget {
  partnerId: string;
  connectionId: string | null;
}

/** Rows and the slugs of their names. */
export interface RowsWithSlugs {
  rows: readonly ImportRow[];
  slugs: NameSlugs;
}

/** The contents of a row as written, by which its undo recognizes a later change. */
interface WithDigest {
  digest: string;
}

/** The former values of a row that was written. */
interface WithFormer extends WithDigest {
  before: object;
  digestBefore: string;
}

/** A link that now belongs to another organization. */
export interface MovedLink {
  orgId: string;
  formerOrgId: string;
  system: string;
  externalId: string;
}

/** The rows as stored, with the versions that events carry. */
export interface WrittenRows {
  organizations: (OrganizationStateRow & WithDigest)[];
  reactivated: (OrganizationStateRow & WithFormer)[];
  links: NewLink[];
  movedLinks: MovedLink[];
  newSites: (SiteStateRow & WithDigest)[];
  patchedSites: (SiteStateRow & WithFormer)[];
}

/**
 * Every organization that a link or a name of the rows may match; deleted ones last, the latest deleted first. Links of
 * other PSA connections are those of another system. A list of names is compared by hash where the planner reads all
 * organizations of the partner; a join would read them once for each name. Links and organizations are found by the only
 * index that fits (`LIMIT` keeps links from being joined): a condition on the partner of the organizations would offer others.
 */
const MATCHING_ORGANIZATIONS = `
  WITH matching AS (
    SELECT n.id FROM organization n WHERE n.partner_id = :partnerId AND n.name_key = ANY (:nameKeys::text[])
    UNION
    SELECT linked.org_id FROM unnest(:systems::text[], :externalIds::text[]) AS r(system, external_id) CROSS JOIN LATERAL (
      SELECT l.org_id FROM external_link l
       WHERE l.partner_id = :partnerId AND l.system = r.system AND l.external_id = r.external_id
         AND l.connection_id IS NOT DISTINCT FROM :connectionId::uuid LIMIT 1) AS linked)
  SELECT o.id, o.name, o.name_key AS "nameKey", o.slug, o.status, o.deleted_at IS NOT NULL AS deleted,
         o.version::int AS version,
         coalesce((SELECT jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id))
                     FROM external_link l
                    WHERE l.org_id = o.id AND l.connection_id IS NOT DISTINCT FROM :connectionId::uuid), '[]') AS links,
         coalesce((SELECT jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'nameKey', s.name_key,
                            'timezone', s.timezone, 'address', s.address, 'contact', s.contact, 'version', s.version)
                            ORDER BY s.created_at, s.id)
                     FROM site s WHERE s.org_id = o.id AND s.deleted_at IS NULL), '[]') AS sites
    FROM organization o
   WHERE o.id = ANY (ARRAY (SELECT id FROM matching)) AND o.erased_at IS NULL AND (o.deleted_at IS NULL OR NOT o.import_undone)
   ORDER BY o.deleted_at DESC NULLS FIRST, o.created_at, o.id`;

const ORGANIZATION_STATE = `o.id, o.partner_id AS "partnerId", o.name, o.slug, o.status, o.deleted_at AS "deletedAt", o.version`;
const SITE_STATE = `s.id, s.org_id AS "orgId", s.partner_id AS "partnerId", s.name, s.deleted_at AS "deletedAt", s.version`;

const INSERT_ORGANIZATIONS = `
  INSERT INTO organization AS o (partner_id, id, name, name_key, slug)
  SELECT :partnerId, id, name, "nameKey", slug
    FROM jsonb_to_recordset(:rows::jsonb) AS n(id uuid, name text, "nameKey" text, slug text)
  RETURNING ${ORGANIZATION_STATE}, ${organizationDigest('o')} AS digest`;

/** The rows are locked before their former values are read, so that no change comes between. */
const REACTIVATE_ORGANIZATIONS = `
  WITH former AS (
    SELECT f.id, f.slug, f.status, f.deleted_at, ${organizationDigest('f')} AS digest, r."newSlug"
      FROM organization f JOIN jsonb_to_recordset(:rows::jsonb) AS r("orgId" uuid, "newSlug" text) ON f.id = r."orgId"
     WHERE f.partner_id = :partnerId AND f.erased_at IS NULL ORDER BY f.id FOR NO KEY UPDATE OF f)
  UPDATE organization o SET deleted_at = NULL, slug = former."newSlug", version = o.version + 1,
         status = CASE WHEN o.status IN ('active', 'trial') THEN o.status ELSE 'active' END
    FROM former
   WHERE o.partner_id = :partnerId AND o.id = former.id
  RETURNING ${ORGANIZATION_STATE}, ${organizationDigest('o')} AS digest, former.digest AS "digestBefore",
    jsonb_build_object('slug', former.slug, 'status', former.status, 'deletedAt', former.deleted_at) AS before`;

const INSERT_LINKS = `
  INSERT INTO external_link (partner_id, org_id, connection_id, system, external_id)
  SELECT :partnerId, "orgId", :connectionId::uuid, system, "externalId"
    FROM jsonb_to_recordset(:rows::jsonb) AS n("orgId" uuid, system text, "externalId" text)`;

const MOVE_LINKS = `
  WITH former AS (
    SELECT f.id, f.org_id, m."orgId"
      FROM jsonb_to_recordset(:rows::jsonb) AS m("orgId" uuid, system text, "externalId" text) CROSS JOIN LATERAL (
        SELECT l.id, l.org_id FROM external_link l
         WHERE l.partner_id = :partnerId AND l.system = m.system AND l.external_id = m."externalId"
           AND l.connection_id IS NOT DISTINCT FROM :connectionId::uuid LIMIT 1 FOR UPDATE) AS f)
  UPDATE external_link l SET org_id = former."orgId" FROM former
   WHERE l.id = former.id
  RETURNING l.org_id AS "orgId", former.org_id AS "formerOrgId", l.system, l.external_id AS "externalId"`;

const INSERT_SITES = `
  INSERT INTO site AS s (partner_id, id, org_id, name, name_key, timezone, address, contact)
  SELECT :partnerId, id, "orgId", name, "nameKey", timezone, address, contact
    FROM jsonb_to_recordset(:rows::jsonb)
      AS n(id uuid, "orgId" uuid, name text, "nameKey" text, timezone text, address jsonb, contact jsonb)
  RETURNING ${SITE_STATE}, ${siteDigest('s')} AS digest`;

/** Rows of one site may change it back: then nothing is written. */
const PATCH_SITES = `
  WITH former AS (
    SELECT f.id, f.timezone, f.address, f.contact, ${siteDigest('f')} AS digest, p."newTimezone", p."newAddress", p."newContact"
      FROM site f JOIN jsonb_to_recordset(:rows::jsonb)
        AS p("siteId" uuid, "newTimezone" text, "newAddress" jsonb, "newContact" jsonb) ON f.id = p."siteId"
     WHERE f.partner_id = :partnerId
       AND (f.timezone, f.address, f.contact) IS DISTINCT FROM (p."newTimezone", p."newAddress", p."newContact")
     ORDER BY f.id FOR NO KEY UPDATE OF f)
  UPDATE site s
     SET timezone = former."newTimezone", address = former."newAddress", contact = former."newContact",
         version = s.version + 1
    FROM former
   WHERE s.partner_id = :partnerId AND s.id = former.id
  RETURNING ${SITE_STATE}, ${siteDigest('s')} AS digest, former.digest AS "digestBefore",
    jsonb_build_object('timezone', former.timezone, 'address', former.address, 'contact', former.contact) AS before`;

/** Reads the state of a partner and writes an import with a fixed number of statements, whatever the number of rows. */
@Injectable()
export class ImportRepository {
  constructor(private readonly organizations: OrganizationsRepository) {}

  /** Reads what a commit depends on, with statements that are sent at once. */
  async loadState(
    tx: TenantTransaction,
    target: ImportTarget,
    { rows, slugs: byName }: RowsWithSlugs,
    remainingCap: number | null,
  ): Promise<ImportState> {
    const [organizations, taken] = await Promise.all([
      this.listMatching(tx, target, rows),
      this.organizations.listTakenSlugs(tx, target.partnerId, byName.values()),
    ]);
    const deleted = organizations.filter((organization) => organization.deleted).map(({ slug }) => slug);
    if (deleted.length > 0) {
      for (const slug of await this.organizations.listTakenSlugs(tx, target.partnerId, deleted)) taken.add(slug);
    }
    return { organizations, slugs: { byName, taken }, remainingCap };
  }

  /** Returns every organization that a row may match. */
  listMatching(
    tx: TenantTransaction,
    { partnerId, connectionId }: ImportTarget,
    rows: readonly ImportRow[],
  ): Promise<KnownOrganization[]> {
    const linked = rows.filter((row) => row.externalId !== null);
    return tx.query<KnownOrganization>(MATCHING_ORGANIZATIONS, {
      partnerId,
      connectionId,
      nameKeys: [...new Set(rows.map((row) => row.nameKey))],
      systems: linked.map((row) => row.externalSystem),
      externalIds: linked.map((row) => row.externalId),
    });
  }

  /** Returns the organization that has an external link, or null. */
  async findLinkedId(
    tx: SqlExecutor,
    { partnerId, connectionId }: ImportTarget,
    { system, externalId }: { system: string; externalId: string },
  ): Promise<string | null> {
    const [row] = await tx.query<{ orgId: string }>(
      `SELECT org_id AS "orgId" FROM external_link
        WHERE partner_id = :partnerId AND system = :system AND external_id = :externalId
          AND connection_id IS NOT DISTINCT FROM :connectionId::uuid`,
      { partnerId, connectionId, system, externalId },
    );
    return row?.orgId ?? null;
  }

  /** Writes the changes of the groups: one statement for each kind of row, sent without waiting for the one before it. */
  async write(tx: SqlExecutor, target: ImportTarget, groups: readonly GroupWrites[]): Promise<WrittenRows> {
    const links = groups.flatMap((group) => group.links);
    const { partnerId, connectionId } = target;
    const save = <Row>(sql: string, rows: readonly object[]) => saveRows<Row>(tx, sql, { partnerId }, rows);
    const saveLinks = <Row>(sql: string, rows: readonly NewLink[]) =>
      saveRows<Row>(tx, sql, { partnerId, connectionId }, rows);
    const newOrganizations: NewOrganization[] = groups.flatMap((group) => group.organizations);
    const newSites: NewSite[] = groups.flatMap((group) => group.newSites);
    const [organizations, reactivated, , movedLinks, sites, patchedSites] = await Promise.all([
      save<WrittenRows['organizations'][number]>(INSERT_ORGANIZATIONS, newOrganizations),
      save<WrittenRows['reactivated'][number]>(REACTIVATE_ORGANIZATIONS, reactivations(groups)),
      saveLinks(INSERT_LINKS, withMoved(links, false)),
      saveLinks<MovedLink>(MOVE_LINKS, withMoved(links, true)),
      save<WrittenRows['newSites'][number]>(INSERT_SITES, newSites),
      save<WrittenRows['patchedSites'][number]>(PATCH_SITES, patches(groups)),
    ]);
    return { organizations, reactivated, links, movedLinks, newSites: sites, patchedSites };
  }
}

const withMoved = (links: readonly NewLink[], moved: boolean): NewLink[] =>
  links.filter((link) => link.moved === moved);

async function saveRows<Row>(
  tx: SqlExecutor,
  sql: string,
  target: Partial<ImportTarget>,
  rows: readonly object[],
): Promise<Row[]> {
  return rows.length === 0 ? [] : tx.query<Row>(sql, { ...target, rows: JSON.stringify(rows) });
}

function reactivations(groups: readonly GroupWrites[]): object[] {
  const rows: ReactivatedOrganization[] = groups.flatMap((group) => group.reactivated);
  return rows.map(({ id, slug }) => ({ orgId: id, newSlug: slug }));
}

/** Two groups may patch one site: the later patch contains the earlier one. */
function patches(groups: readonly GroupWrites[]): object[] {
  const latest = new Map<string, SitePatch>(
    groups.flatMap((group) => group.sitePatches).map((patch) => [patch.id, patch]),
  );
  return [...latest.values()].map(({ id, timezone, address, contact }) => ({
    siteId: id,
    newTimezone: timezone,
    newAddress: address,
    newContact: contact,
  }));
}
