import { Controller } from '@nestjs/common';
import { PROVISIONING_SITES_EXISTING, PROVISIONING_SITES_GET, type SiteState } from '@rmm/contracts';
import { RpcHandler } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { SITE_FACT_COLUMNS, toSiteFact, type SiteFactRow } from './site-facts.js';

@Controller()
export class SitesRpc {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Credentials asks before it pins a key: is this a live site of that organization? */
  @RpcHandler(PROVISIONING_SITES_GET)
  async get({ orgId, siteId }: { orgId: string; siteId: string }): Promise<{ site: SiteState | null }> {
    const [site] = await this.worker.query<SiteFactRow>(
      `select ${SITE_FACT_COLUMNS} from site where id = $1 and org_id = $2 and deleted_at is null`,
      [siteId, orgId],
    );
    return { site: site ? toSiteFact(site) : null };
  }

  /** Identity asks before it confines a member: which of these are live sites of that organization? */
  @RpcHandler(PROVISIONING_SITES_EXISTING)
  async existing(request: { orgId: string; siteIds: string[] }): Promise<{ siteIds: string[] }> {
    const sites = await this.worker.query<{ id: string }>(
      'select id from site where org_id = $1 and id = any($2::uuid[]) and deleted_at is null',
      [request.orgId, request.siteIds],
    );
    return { siteIds: sites.map(({ id }) => id) };
  }
}
