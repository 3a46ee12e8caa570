import { Injectable } from '@nestjs/common';
import { IDENTITY_ACCESS_IN_ORGANIZATION, type AccessGrant } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { API_KEY_SCOPES, isPermission, missingPermissions, permissionsForScopes } from '@rmm/permissions';

/** Whose key it is, and what it claims. */
export interface HumanKey {
  orgId: string;
  partnerId: string;
  scopes: readonly string[];
  createdBy: string | null;
}

/** What a creator, and so the key, is confined to; null means no restriction. */
export type Confinement = Pick<AccessGrant, 'siteIds' | 'deviceGroupIds'>;

/** A key dies with its creator's authority: asked live of identity. @see CONTRACT.md 4.1 */
@Injectable()
export class CreatorAuthority {
  constructor(private readonly rpc: RpcClient) {}

  /**
   * @returns null when the creator is gone or disabled, no longer reaches the organization, or no longer holds in one
   *   membership every permission behind every scope
   * @throws UnavailableError  when identity cannot be asked
   */
  async of({ orgId, partnerId, scopes, createdBy }: HumanKey): Promise<Confinement | null> {
    const grants = await this.grantsOf(createdBy, partnerId, orgId);
    const needed = permissionsForScopes(scopes, API_KEY_SCOPES);
    const enough = grants.filter(
      ({ permissions }) => missingPermissions(new Set(permissions.filter(isPermission)), needed).length === 0,
    );
    return widest(enough);
  }

  /**
   * What a creator is confined to, whatever the key may do.
   * @returns null for an unknown creator
   */
  async confinementOf({ orgId, partnerId, createdBy }: HumanKey): Promise<Confinement | null> {
    return widest(await this.grantsOf(createdBy, partnerId, orgId));
  }

  private async grantsOf(userId: string | null, partnerId: string, orgId: string): Promise<AccessGrant[]> {
    if (userId === null) return [];
    const access = await this.rpc.call(IDENTITY_ACCESS_IN_ORGANIZATION, { userId, partnerId, orgId });
    return access?.active ? access.grants : [];
  }
}

/** Of several memberships that suffice, the one without restriction, else the first. */
function widest(grants: readonly AccessGrant[]): Confinement | null {
  const free = grants.find(({ siteIds, deviceGroupIds }) => siteIds === null && deviceGroupIds === null);
  const chosen = free ?? grants[0];
  return chosen ? { siteIds: chosen.siteIds, deviceGroupIds: chosen.deviceGroupIds } : null;
}
