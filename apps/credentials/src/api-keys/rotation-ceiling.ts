import { Injectable } from '@nestjs/common';
import { isSiteRestricted, type UserCaller } from '@rmm/access';
import { API_KEY_SCOPES } from '@rmm/permissions';
import { assertMayGrant, PermissionNotDelegable } from '../scope-checks.js';
import type { ApiKey } from './api-key.entity.js';
import { CreatorAuthority, type Confinement } from './creator-authority.js';

/** Whoever rotates a key holds it afterwards, so nobody rotates a key that reaches further than they do. */
@Injectable()
export class RotationCeiling {
  constructor(private readonly authority: CreatorAuthority) {}

  /**
   * The rotator sees the key, so it reaches the organization; what is left are the scopes and the sites.
   * @throws PermissionNotDelegable  403, also for a key whose creator is unknown
   * @throws UnavailableError  when the creator's rights cannot be read
   * @see CONTRACT.md 4.1
   */
  async assert(caller: UserCaller, key: ApiKey): Promise<void> {
    this.assertScopes(caller, key);
    const creator = await this.authority.confinementOf(key);
    if (creator === null) throw refused('Nobody can say what the creator of this key may do');
    if (isSiteRestricted(caller) && !isConfinedWithin(creator, caller)) {
      throw refused('The creator of this key reaches sites that you do not');
    }
  }

  assertScopes(caller: UserCaller, key: ApiKey): void {
    assertMayGrant(caller, key.scopes, API_KEY_SCOPES);
  }
}

type Bounds = { readonly [Axis in keyof Confinement]: readonly string[] | null };

/** The same or less on both axes. */
const isConfinedWithin = (inner: Bounds, outer: Bounds): boolean =>
  isPartOf(inner.siteIds, outer.siteIds) && isPartOf(inner.deviceGroupIds, outer.deviceGroupIds);

const isPartOf = (inner: readonly string[] | null, outer: readonly string[] | null): boolean =>
  outer === null || (inner !== null && inner.every((id) => outer.includes(id)));

const refused = (message: string) => new PermissionNotDelegable(undefined, { message });
