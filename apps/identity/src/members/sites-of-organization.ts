import { Injectable } from '@nestjs/common';
import { PROVISIONING_SITES_EXISTING } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { ValidationError } from '@rmm/service-kit';

/** Sites are provisioning's: it is asked before a member is confined to some. */
@Injectable()
export class SitesOfOrganization {
  constructor(private readonly rpc: RpcClient) {}

  /** @throws ValidationError naming every site that is not of the organization; UnavailableError when nobody answers */
  async assertAll(orgId: string, siteIds: readonly string[]): Promise<void> {
    if (siteIds.length === 0) return;
    const found = await this.rpc.call(PROVISIONING_SITES_EXISTING, { orgId, siteIds: [...siteIds] });
    const known = new Set(found.siteIds);
    const foreign = siteIds.flatMap((id, i) =>
      known.has(id) ? [] : [[`siteIds.${i}`, ['is not a site of the organization']]],
    );
    if (foreign.length > 0) {
      throw new ValidationError(undefined, { fieldErrors: Object.fromEntries(foreign) as Record<string, string[]> });
    }
  }
}
