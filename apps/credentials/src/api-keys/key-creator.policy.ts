import { Injectable } from '@nestjs/common';
import {
  assertCanGrant,
  isSiteRestricted,
  PermissionNotDelegable,
  SiteAccessDenied,
  type UserCaller,
} from '@rmm/access';
import { IDENTITY_ACCESS_IN_ORGANIZATION, type AccessGrant } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { API_KEY_SCOPES, permissionsForScopes, missingPermissions, type Permission } from '@rmm/permissions';
import type { ApiKey } from './api-key.entity.js';

/** The sites and device groups a creator, and so the key, is restricted to; null means no restriction. */
export type KeyRestriction = Pick<AccessGrant, 'siteIds' | 'deviceGroupIds'>;

type KeyOfUser = Pick<ApiKey, 'orgId' | 'partnerId' | 'createdBy'> & { scopes: readonly string[] };

/** A key created by a user has at most the access its creator has now, as identity reports it. */
@Injectable()
export class KeyCreatorPolicy {
  constructor(private readonly rpc: RpcClient) {}

  /**
   * Returns the restriction of a key whose creator still has the permissions of every scope in one membership.
   * @returns null when the creator is deleted, disabled, without access to the organization or lacks a permission
   * @throws UnavailableError when identity cannot be reached
   */
  async findRestriction(key: KeyOfUser): Promise<KeyRestriction | null> {
    const needed = permissionsForScopes(key.scopes, API_KEY_SCOPES);
    const grants = await this.grantsOfCreator(key);
    return leastRestricted(
      grants.filter(({ permissions }) => missingPermissions(new Set(permissions), needed).length === 0),
    );
  }

  /**
   * Checks that a caller may rotate a key: rotating reveals it, so the caller needs each of its permissions and sites.
   * @throws PermissionNotDelegable 403, also for a key whose creator is unknown
   * @throws UnavailableError when identity cannot be reached
   */
  async assertCanRotate(caller: UserCaller, key: KeyOfUser): Promise<void> {
    assertCanGrant(caller, key.scopes, API_KEY_SCOPES);
    const creator = leastRestricted(await this.grantsOfCreator(key));
    if (creator === null) throw notDelegable('The access of the creator of this key is unknown');
    if (isSiteRestricted(caller) && !isWithin(creator, caller)) {
      throw notDelegable('The creator of this key has access to sites that you do not have access to');
    }
  }

  /**
   * Checks that a caller who is restricted to sites or groups may manage a key: its creator is restricted to the same or
   * fewer. A key without such a creator is left to callers without restriction.
   * @throws SiteAccessDenied 403
   * @throws UnavailableError when identity cannot be reached
   */
  async assertWithinSites(caller: UserCaller, key: KeyOfUser): Promise<void> {
    if (!isSiteRestricted(caller)) return;
    const creator = leastRestricted(await this.grantsOfCreator(key));
    if (creator === null || !isWithin(creator, caller)) throw new SiteAccessDenied();
  }

  /**
   * Returns the permissions that the creator of a key lacks for these scopes; the key would not work with them.
   * @throws UnavailableError when identity cannot be reached
   */
  async findMissingPermissions(key: KeyOfUser, scopes: readonly string[]): Promise<Permission[]> {
    const needed = permissionsForScopes(scopes, API_KEY_SCOPES);
    const grants = await this.grantsOfCreator(key);
    const missing = grants.map(({ permissions }) => missingPermissions(new Set(permissions), needed));
    return missing.sort((a, b) => a.length - b.length)[0] ?? needed;
  }

  private async grantsOfCreator({ createdBy, partnerId, orgId }: KeyOfUser): Promise<AccessGrant[]> {
    if (createdBy === null) return [];
    const access = await this.rpc.call(IDENTITY_ACCESS_IN_ORGANIZATION, { userId: createdBy, partnerId, orgId });
    return access?.active ? access.grants : [];
  }
}

/** Returns the grant without restriction, else the first; null when there is none. */
function leastRestricted(grants: readonly AccessGrant[]): KeyRestriction | null {
  const unrestricted = grants.find(({ siteIds, deviceGroupIds }) => siteIds === null && deviceGroupIds === null);
  const chosen = unrestricted ?? grants[0];
  return chosen ? { siteIds: chosen.siteIds, deviceGroupIds: chosen.deviceGroupIds } : null;
}

type Bounds = { readonly [Scope in keyof KeyRestriction]: readonly string[] | null };

function isWithin(inner: Bounds, outer: Bounds): boolean {
  return isSubset(inner.siteIds, outer.siteIds) && isSubset(inner.deviceGroupIds, outer.deviceGroupIds);
}

function isSubset(inner: readonly string[] | null, outer: readonly string[] | null): boolean {
  return outer === null || (inner !== null && inner.every((id) => outer.includes(id)));
}

function notDelegable(message: string): PermissionNotDelegable {
  return new PermissionNotDelegable(undefined, { message });
}
