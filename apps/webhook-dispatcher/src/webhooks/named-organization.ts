import { Injectable } from '@nestjs/common';
import { type Caller, type DirectoryOrganization, OrganizationAccessDenied, OrganizationDirectory } from '@rmm/access';
import { OrganizationContextRequired } from './webhook.errors.js';

/** The organization a list or a create is about. @see CONTRACT.md 1.5, last paragraph */
@Injectable()
export class NamedOrganization {
  constructor(private readonly directory: OrganizationDirectory) {}

  /**
   * Organization callers may leave it out, and may name none but their own; all others must name one they reach.
   * @throws OrganizationContextRequired, OrganizationAccessDenied
   */
  async resolve(caller: Caller, named: string | undefined): Promise<DirectoryOrganization> {
    const { scope, orgId: own } = caller.tenant;
    if (scope === 'organization') {
      if (own === null || (named !== undefined && named !== own)) throw new OrganizationAccessDenied();
      return this.directory.assertOrganizationAccess(caller, own);
    }
    if (named === undefined) throw new OrganizationContextRequired();
    return this.directory.assertOrganizationAccess(caller, named);
  }
}
