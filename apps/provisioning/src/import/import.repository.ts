import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
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

/** The rows as stored, with the versions that events carry. */
export interface WrittenRows {
  organizations: OrganizationStateRow[];
  reactivated: OrganizationStateRow[];
  links: NewLink[];
  newSites: SiteStateRow[];
  patchedSites: SiteStateRow[];
}

/** Every organization that a link or a name of the rows may match; deleted ones last, the latest deleted first. */
const MATCHING_ORGANIZATIONS = `
  WITH matching AS (
    SELECT id FROM organization WHERE partner_id = :partnerId AND name_key = ANY (:nameKeys::text[])
    UNION
    SELECT l.org_id FROM external_link l
      JOIN unnest(:systems::text[], :externalIds::text[]) AS r(system, external_id)
        ON l.system = r.system AND l.external_id = r.external_id
     WHERE l.partner_id = :partnerId)
  SELECT o.id, o.name, o.name_key AS "nameKey", o.slug, o.status, o.deleted_at IS NOT NULL AS deleted,
         o.version::int AS version,
         coalesce((SELECT jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id))
                     FROM external_link l WHERE l.org_id = o.id), '[]') AS links,
         coalesce((SELECT jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'nameKey', s.name_key,
                            'timezone', s.timezone, 'address', s.address, 'contact', s.contact, 'version', s.version)
                            ORDER BY s.created_at, s.id)
                     FROM site s WHERE s.org_id = o.id AND s.deleted_at IS NULL), '[]') AS sites
    FROM organization o JOIN matching m ON m.id = o.id
   WHERE o.partner_id = :partnerId
   ORDER BY o.deleted_at DESC NULLS FIRST, o.created_at, o.id`;

const ORGANIZATION_STATE = `id, partner_id AS "partnerId", name, slug, status, deleted_at AS "deletedAt", version`;
const SITE_STATE = `id, org_id AS "orgId", partner_id AS "partnerId", name, deleted_at AS "deletedAt", version`;

const INSERT_ORGANIZATIONS = `
  INSERT INTO organization (partner_id, id, name, name_key, slug)
  SELECT :partnerId, id, name, "nameKey", slug
    FROM jsonb_to_recordset(:rows::jsonb) AS n(id uuid, name text, "nameKey" text, slug text)
  RETURNING ${ORGANIZATION_STATE}`;

const REACTIVATE_ORGANIZATIONS = `
  UPDATE organization o SET deleted_at = NULL, slug = r."newSlug", version = version + 1,
         status = CASE WHEN status IN ('active', 'trial') THEN status ELSE 'active' END
    FROM jsonb_to_recordset(:rows::jsonb) AS r("orgId" uuid, "newSlug" text)
   WHERE o.partner_id = :partnerId AND o.id = r."orgId"
  RETURNING ${ORGANIZATION_STATE}`;

const INSERT_LINKS = `
  INSERT INTO external_link (partner_id, org_id, system, external_id)
  SELECT :partnerId, "orgId", system, "externalId"
    FROM jsonb_to_recordset(:rows::jsonb) AS n("orgId" uuid, system text, "externalId" text)`;

const MOVE_LINKS = `
  UPDATE external_link l SET org_id = m."orgId"
    FROM jsonb_to_recordset(:rows::jsonb) AS m("orgId" uuid, system text, "externalId" text)
   WHERE l.partner_id = :partnerId AND l.system = m.system AND l.external_id = m."externalId"`;

const INSERT_SITES = `
  INSERT INTO site (partner_id, id, org_id, name, name_key, timezone, address, contact)
  SELECT :partnerId, id, "orgId", name, "nameKey", timezone, address, contact
    FROM jsonb_to_recordset(:rows::jsonb)
      AS n(id uuid, "orgId" uuid, name text, "nameKey" text, timezone text, address jsonb, contact jsonb)
  RETURNING ${SITE_STATE}`;

const PATCH_SITES = `
  UPDATE site s
     SET timezone = p."newTimezone", address = p."newAddress", contact = p."newContact", version = version + 1
    FROM jsonb_to_recordset(:rows::jsonb)
      AS p("siteId" uuid, "newTimezone" text, "newAddress" jsonb, "newContact" jsonb)
   WHERE s.partner_id = :partnerId AND s.id = p."siteId"
  RETURNING ${SITE_STATE}`;

/** Reads the state of a partner and writes an import with a fixed number of statements, whatever the number of rows. */
@Injectable()
export class ImportRepository {
  constructor(private readonly organizations: OrganizationsRepository) {}

  /** @param remainingCap  number of organizations that the partner may still add; null without a cap */
  async loadState(
    tx: TenantTransaction,
    partnerId: string,
    rows: readonly ImportRow[],
    remainingCap: number | null,
  ): Promise<ImportState> {
    const linked = rows.filter((row) => row.externalId !== null);
    const organizations = await tx.query<KnownOrganization>(MATCHING_ORGANIZATIONS, {
      partnerId,
      nameKeys: [...new Set(rows.map((row) => row.nameKey))],
      systems: linked.map((row) => row.externalSystem),
      externalIds: linked.map((row) => row.externalId),
    });
    const candidates = new Set(rows.map((row) => row.slug));
    for (const organization of organizations) if (organization.deleted) candidates.add(organization.slug);
    const takenSlugs = await this.organizations.listTakenSlugs(tx, partnerId, candidates);
    return { organizations, takenSlugs, remainingCap };
  }

  /** Returns the organization that has an external link, or null. */
  async findLinkedId(
    tx: SqlExecutor,
    partnerId: string,
    { system, externalId }: { system: string; externalId: string },
  ): Promise<string | null> {
    const [row] = await tx.query<{ orgId: string }>(
      `SELECT org_id AS "orgId" FROM external_link
        WHERE partner_id = :partnerId AND system = :system AND external_id = :externalId`,
      { partnerId, system, externalId },
    );
    return row?.orgId ?? null;
  }

  /** Writes the changes of the groups: one statement for each kind of row. */
  async write(tx: SqlExecutor, partnerId: string, groups: readonly GroupWrites[]): Promise<WrittenRows> {
    const links = groups.flatMap((group) => group.links);
    const save = <Row>(sql: string, rows: readonly object[]) => saveRows<Row>(tx, sql, partnerId, rows);
    const newOrganizations: NewOrganization[] = groups.flatMap((group) => group.organizations);
    const organizations = await save<OrganizationStateRow>(INSERT_ORGANIZATIONS, newOrganizations);
    const reactivated = await save<OrganizationStateRow>(REACTIVATE_ORGANIZATIONS, reactivations(groups));
    await save(
      INSERT_LINKS,
      links.filter((link) => !link.moved),
    );
    await save(
      MOVE_LINKS,
      links.filter((link) => link.moved),
    );
    const newSites: NewSite[] = groups.flatMap((group) => group.newSites);
    return {
      organizations,
      reactivated,
      links,
      newSites: await save<SiteStateRow>(INSERT_SITES, newSites),
      patchedSites: await save<SiteStateRow>(PATCH_SITES, patches(groups)),
    };
  }
}

async function saveRows<Row>(tx: SqlExecutor, sql: string, partnerId: string, rows: readonly object[]): Promise<Row[]> {
  return rows.length === 0 ? [] : tx.query<Row>(sql, { partnerId, rows: JSON.stringify(rows) });
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
