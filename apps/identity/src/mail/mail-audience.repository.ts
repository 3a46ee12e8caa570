import { Injectable } from '@nestjs/common';
import type { MailAudience } from '@rmm/contracts';
import { hasPermission, parsePermission, type Permission } from '@rmm/permissions';
import { WorkerDatabase } from '@rmm/persistence';
import { permissionsOfRole } from '../roles/roles.repository.js';

export interface Addressee {
  email: string;
  name: string;
}

interface MemberRow extends Addressee {
  permissions: Permission[];
}

/** Recipients of mails about an organization, under the worker login. */
@Injectable()
export class MailAudienceRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** Lists the organization's active members with the permission, else the partner's administrators. */
  async list({ partnerId, orgId, permission }: MailAudience): Promise<Addressee[]> {
    const required = parsePermission(permission);
    const members = await this.listMembers(partnerId, orgId);
    const permitted = members.filter(({ permissions }) => required && hasPermission(permissions, required));
    if (permitted.length > 0) return permitted.map(({ email, name }) => ({ email, name }));
    return this.listPartnerAdmins(partnerId);
  }

  private listMembers(partnerId: string, orgId: string): Promise<MemberRow[]> {
    return this.worker.query(
      `SELECT u.email, u.name, ${permissionsOfRole('m.role_id')} AS permissions
       FROM organization_membership m JOIN user_account u ON u.id = m.user_id
       WHERE m.partner_id = :partnerId AND m.org_id = :orgId AND u.status = 'active'
       ORDER BY u.email`,
      { partnerId, orgId },
    );
  }

  private listPartnerAdmins(partnerId: string): Promise<Addressee[]> {
    return this.worker.query(
      `SELECT DISTINCT u.email, u.name
       FROM partner_membership m JOIN user_account u ON u.id = m.user_id JOIN role r ON r.id = m.role_id
       WHERE m.partner_id = :partnerId AND r.system_key = 'partner_admin' AND u.status = 'active'
       ORDER BY u.email`,
      { partnerId },
    );
  }
}
