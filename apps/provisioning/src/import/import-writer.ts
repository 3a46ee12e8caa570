import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { FACT_COLUMNS, type OrganizationRow } from '../organizations/organization-facts.js';
import { SITE_FACT_COLUMNS, type SiteFactRow } from '../sites/site-facts.js';
import type { GroupWrites, NewLink, NewOrganization, NewSite, RevivedOrganization, SitePatch } from './import-draft.js';

/** The rows as they were written, with the versions that facts carry. */
export interface WrittenRows {
  organizations: OrganizationRow[];
  revived: OrganizationRow[];
  links: NewLink[];
  newSites: SiteFactRow[];
  patchedSites: SiteFactRow[];
}

const INSERT_ORGANIZATIONS = `
  insert into organization (partner_id, id, name, name_key, slug)
  select $1, id, name, name_key, slug
    from unnest($2::uuid[], $3::text[], $4::text[], $5::text[]) as n(id, name, name_key, slug)
  returning ${FACT_COLUMNS}`;

const REVIVE_ORGANIZATIONS = `
  update organization o set deleted_at = null, slug = r.new_slug, version = version + 1,
         status = case when status in ('active', 'trial') then status else 'active' end
    from unnest($2::uuid[], $3::text[]) as r(org_id, new_slug)
   where o.partner_id = $1 and o.id = r.org_id
  returning ${FACT_COLUMNS}`;

const INSERT_LINKS = `
  insert into external_link (partner_id, org_id, system, external_id)
  select $1, org_id, system, external_id from unnest($2::uuid[], $3::text[], $4::text[]) as n(org_id, system, external_id)`;

const MOVE_LINKS = `
  update external_link l set org_id = m.new_org_id
    from unnest($2::uuid[], $3::text[], $4::text[]) as m(new_org_id, system, external_id)
   where l.partner_id = $1 and l.system = m.system and l.external_id = m.external_id`;

const INSERT_SITES = `
  insert into site (partner_id, id, org_id, name, name_key, timezone, address, contact)
  select $1, id, "orgId", name, "nameKey", timezone, address, contact
    from jsonb_to_recordset($2::jsonb)
      as n(id uuid, "orgId" uuid, name text, "nameKey" text, timezone text, address jsonb, contact jsonb)
  returning ${SITE_FACT_COLUMNS}`;

const PATCH_SITES = `
  update site s set timezone = p.new_timezone, address = p.new_address, contact = p.new_contact, version = version + 1
    from jsonb_to_recordset($2::jsonb)
      as p(site_id uuid, new_timezone text, new_address jsonb, new_contact jsonb)
   where s.partner_id = $1 and s.id = p.site_id
  returning ${SITE_FACT_COLUMNS}`;

/** Writes what an import decided: one statement per kind of row, whatever their number. */
@Injectable()
export class ImportWriter {
  async write(tx: SqlExecutor, partnerId: string, groups: readonly GroupWrites[]): Promise<WrittenRows> {
    const organizations = groups.flatMap((group) => group.organizations);
    const revived = groups.flatMap((group) => group.revived);
    const links = groups.flatMap((group) => group.links);
    const newSites = groups.flatMap((group) => group.newSites);
    const patches = groups.flatMap((group) => group.sitePatches);
    const written = {
      organizations: await this.insertOrganizations(tx, partnerId, organizations),
      revived: await this.revive(tx, partnerId, revived),
      links,
    };
    await this.storeLinks(tx, partnerId, links);
    return {
      ...written,
      newSites: await this.insertSites(tx, partnerId, newSites),
      patchedSites: await this.patchSites(tx, partnerId, patches),
    };
  }

  private async insertOrganizations(tx: SqlExecutor, partnerId: string, rows: NewOrganization[]) {
    if (rows.length === 0) return [];
    return tx.query<OrganizationRow>(INSERT_ORGANIZATIONS, [
      partnerId,
      rows.map((row) => row.id),
      rows.map((row) => row.name),
      rows.map((row) => row.nameKey),
      rows.map((row) => row.slug),
    ]);
  }

  private async revive(tx: SqlExecutor, partnerId: string, rows: RevivedOrganization[]) {
    if (rows.length === 0) return [];
    const values = [partnerId, rows.map((row) => row.id), rows.map((row) => row.slug)];
    return tx.query<OrganizationRow>(REVIVE_ORGANIZATIONS, values);
  }

  private async storeLinks(tx: SqlExecutor, partnerId: string, links: NewLink[]): Promise<void> {
    const statements: [string, NewLink[]][] = [
      [INSERT_LINKS, links.filter((link) => !link.moved)],
      [MOVE_LINKS, links.filter((link) => link.moved)],
    ];
    for (const [sql, rows] of statements) {
      if (rows.length === 0) continue;
      await tx.query(sql, [
        partnerId,
        rows.map((row) => row.orgId),
        rows.map((row) => row.system),
        rows.map((row) => row.externalId),
      ]);
    }
  }

  private async insertSites(tx: SqlExecutor, partnerId: string, rows: NewSite[]) {
    return rows.length === 0 ? [] : tx.query<SiteFactRow>(INSERT_SITES, [partnerId, JSON.stringify(rows)]);
  }

  /** Two groups may patch one site: the later patch contains the earlier one. */
  private async patchSites(tx: SqlExecutor, partnerId: string, patches: SitePatch[]) {
    if (patches.length === 0) return [];
    const rows = [...new Map(patches.map((patch) => [patch.id, patch])).values()].map((patch) => ({
      site_id: patch.id,
      new_timezone: patch.timezone,
      new_address: patch.address,
      new_contact: patch.contact,
    }));
    return tx.query<SiteFactRow>(PATCH_SITES, [partnerId, JSON.stringify(rows)]);
  }
}
