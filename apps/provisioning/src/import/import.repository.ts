import { Injectable } from '@nestjs/common';
import type { SqlExecutor } from '@rmm/persistence';
import { nameKey } from '../organizations/name-key.js';
import { slugBases, slugFor } from '../organizations/slug.js';
import { takenSlugs } from '../organizations/taken-slugs.js';
import type { ImportRow } from './import-row.js';
import type { ImportState, KnownOrganization } from './import-state.js';

/** Every organization that a link or a name of the rows could mean, the latest deleted first among the deleted. */
const MEANT = `
  with meant as (
    select id from organization where partner_id = $1 and name_key = any ($2::text[])
    union
    select l.org_id from external_link l
      join unnest($3::text[], $4::text[]) as w(system, external_id)
        on l.system = w.system and l.external_id = w.external_id
     where l.partner_id = $1)
  select o.id, o.name, o.name_key as "nameKey", o.slug, o.status, o.deleted_at is not null as deleted,
         o.version::int as version,
         coalesce((select jsonb_agg(jsonb_build_object('system', l.system, 'externalId', l.external_id))
                     from external_link l where l.org_id = o.id), '[]') as links,
         coalesce((select jsonb_agg(jsonb_build_object('id', s.id, 'name', s.name, 'nameKey', s.name_key,
                            'timezone', s.timezone, 'address', s.address, 'contact', s.contact, 'version', s.version)
                            order by s.created_at, s.id)
                     from site s where s.org_id = o.id and s.deleted_at is null), '[]') as sites
    from organization o join meant m on m.id = o.id
   where o.partner_id = $1
   order by o.deleted_at desc nulls first, o.created_at, o.id`;

/** What the planner must know, in a number of statements that does not depend on the number of rows. */
@Injectable()
export class ImportRepository {
  /** @param freePlaces  how many organizations the partner may still add; null without a cap */
  async loadState(
    tx: SqlExecutor,
    partnerId: string,
    rows: readonly ImportRow[],
    freePlaces: number | null,
  ): Promise<ImportState> {
    const linked = rows.filter((row) => row.externalId !== null);
    const organizations = await tx.query<KnownOrganization>(MEANT, [
      partnerId,
      [...new Set(rows.map((row) => nameKey(row.organization)))],
      linked.map((row) => row.externalSystem),
      linked.map((row) => row.externalId),
    ]);
    const candidates = new Set(rows.map((row) => slugFor(row.organization)));
    for (const organization of organizations) if (organization.deleted) candidates.add(organization.slug);
    return { organizations, takenSlugs: await takenSlugs(tx, partnerId, slugBases(candidates)), freePlaces };
  }

  /** The organization that holds a link, whoever stored it. */
  async findLinked(tx: SqlExecutor, partnerId: string, link: { system: string; externalId: string }) {
    const [row] = await tx.query<{ orgId: string }>(
      'select org_id as "orgId" from external_link where partner_id = $1 and system = $2 and external_id = $3',
      [partnerId, link.system, link.externalId],
    );
    return row?.orgId ?? null;
  }
}
