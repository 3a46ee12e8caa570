import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase } from '@rmm/persistence';
import { linkKey } from '../import/import-plan.policy.js';

/** The id of an organization in another system. */
export interface ExternalIdentity {
  system: string;
  externalId: string;
}

const NAMES_BY_ID = `
  SELECT o.id, o.name_key AS "nameKey" FROM organization o WHERE o.partner_id = :partnerId AND o.id = ANY (:ids::uuid[])`;

/** Rows of files have no PSA connection. `LIMIT` keeps the links from being joined, as in the plan of an import. */
const NAMES_BY_LINK = `
  SELECT r.system, r.external_id AS "externalId", o.name_key AS "nameKey"
    FROM unnest(:systems::text[], :externalIds::text[]) AS r(system, external_id)
    CROSS JOIN LATERAL (
      SELECT l.org_id FROM external_link l
       WHERE l.partner_id = :partnerId AND l.system = r.system AND l.external_id = r.external_id
         AND l.connection_id IS NULL LIMIT 1) AS linked
    JOIN organization o ON o.id = linked.org_id`;

/** Reads the names of stored organizations that rows of a file refer to by an id. */
@Injectable()
export class RowOrganizationsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns the keys of the names by id; without the organizations that the caller cannot access. */
  async findNamesById(caller: Caller, partnerId: string, ids: readonly string[]): Promise<Map<string, string>> {
    if (ids.length === 0) return new Map();
    const found = await this.tenants.read<{ id: string; nameKey: string }>(caller, NAMES_BY_ID, { partnerId, ids });
    return new Map(found.map(({ id, nameKey }) => [id, nameKey]));
  }

  /** Returns the keys of the names by `linkKey` of an external id. */
  async findNamesByLink(
    caller: Caller,
    partnerId: string,
    identities: readonly ExternalIdentity[],
  ): Promise<Map<string, string>> {
    if (identities.length === 0) return new Map();
    const found = await this.tenants.read<ExternalIdentity & { nameKey: string }>(caller, NAMES_BY_LINK, {
      partnerId,
      systems: identities.map(({ system }) => system),
      externalIds: identities.map(({ externalId }) => externalId),
    });
    return new Map(found.map(({ system, externalId, nameKey }) => [linkKey(system, externalId), nameKey]));
  }
}
