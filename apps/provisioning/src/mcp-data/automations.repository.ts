import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import type { McpAutomation, McpPage } from '@rmm/contracts';
import { countMatching, Cursors, MAX_UUID, TenantDatabase } from '@rmm/persistence';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { LISTED_DESCRIPTION } from './mcp-data.mapper.js';

const LATEST_FIRST = 'latest';
/** After every record, as PostgreSQL's text. */
const START = ['infinity', MAX_UUID];

interface AutomationRow extends Omit<McpAutomation, 'updatedAt'> {
  sourceUpdatedAt: Date;
  changedAt: Date;
}

const OF_ORGANIZATION = `r.org_id = :orgId::uuid AND r.partner_id = :partnerId::uuid`;
const OF_PARTNER = `r.org_id IS NULL AND r.partner_id = :partnerId::uuid`;
const IS_AUTOMATION = `r.resource = 'automations' AND r.deleted_at IS NULL`;

/** SQL: the latest records of one owner after a position, in the order of an index. */
const pageOf = (owner: string): string => `
  SELECT r.* FROM export_record r
   WHERE ${owner} AND ${IS_AUTOMATION}
     AND (r.updated_at, r.id) < (:beforeTime::timestamptz, :beforeId::uuid)
   ORDER BY r.updated_at DESC, r.id DESC LIMIT :limit`;

const PAGE = `
  SELECT r.id, r.org_id AS "orgId", r.record->>'name' AS name,
         left(r.record->>'description', ${LISTED_DESCRIPTION}) AS description,
         coalesce(r.record->'enabled' = 'true'::jsonb, false) AS enabled, r.record->>'onFailure' AS "onFailure",
         r.source_updated_at AS "sourceUpdatedAt", r.updated_at AS "changedAt"
    FROM ((${pageOf(OF_ORGANIZATION)}) UNION ALL (${pageOf(OF_PARTNER)})) r
   ORDER BY r.updated_at DESC, r.id DESC LIMIT :limit`;

const ALL = `
  SELECT FROM export_record r WHERE ${OF_ORGANIZATION} AND ${IS_AUTOMATION}
  UNION ALL
  SELECT FROM export_record r WHERE ${OF_PARTNER} AND ${IS_AUTOMATION}`;

/** Queries of automations, which other services publish as records. SQL: two owners in one page, each by its index. */
@Injectable()
export class AutomationsRepository {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: TenantDatabase,
    @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>,
  ) {
    this.cursors = Cursors.derive(config.secrets.keyRing, 'automation');
  }

  /**
   * Lists the automations of the caller's organization and those of all organizations of its partner, latest change first.
   * @throws InvalidCursor
   */
  async list(
    caller: Caller,
    { cursor, limit }: { cursor: string | null; limit: number },
  ): Promise<McpPage<McpAutomation>> {
    const { partnerId, orgId } = caller.tenant;
    const owner = { partnerId, orgId };
    const binding = { caller, list: 'automations', filters: {} };
    const [beforeTime, beforeId] = cursor === null ? START : this.cursors.decode(cursor, binding, LATEST_FIRST);
    const page = { ...owner, beforeTime, beforeId, limit: limit + 1 };
    const [found, counted] = await Promise.all([
      this.tenants.read<AutomationRow>(caller, PAGE, page),
      cursor === null ? countMatching(this.tenants.reader(caller), ALL, owner) : undefined,
    ]);
    const rows = found.slice(0, limit);
    const last = found.length > limit ? rows.at(-1) : undefined;
    const position = last && [last.changedAt.toISOString(), last.id];
    return {
      items: rows.map(toAutomation),
      total: counted?.total ?? null,
      nextCursor: position ? this.cursors.encode(position, binding, LATEST_FIRST) : null,
    };
  }
}

const toAutomation = ({ id, orgId, name, description, enabled, onFailure, sourceUpdatedAt }: AutomationRow) => ({
  ...{ id, orgId, name, description, enabled, onFailure },
  updatedAt: sourceUpdatedAt.toISOString(),
});
