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

/** $1 partner, $2 organization: its active members with what their roles give them, inheritance included. */
const MEMBERS = `
  select u.email, u.name, ${permissionsOfRole('m.role_id')} as permissions
  from organization_membership m join user_account u on u.id = m.user_id
  where m.partner_id = $1 and m.org_id = $2 and u.status = 'active'
  order by u.email`;

const PARTNER_ADMINS = `
  select distinct u.email, u.name
  from partner_membership m join user_account u on u.id = m.user_id join role r on r.id = m.role_id
  where m.partner_id = $1 and r.system_key = 'partner_admin' and u.status = 'active'
  order by u.email`;

/** Who a mail about an organization goes to, under the worker login. */
@Injectable()
export class MailAudienceRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  /** @see MailAudience */
  async list({ partnerId, orgId, permission }: MailAudience): Promise<Addressee[]> {
    const required = parsePermission(permission);
    const members = await this.worker.query<MemberRow>(MEMBERS, [partnerId, orgId]);
    const holders = members.filter(({ permissions }) => required && hasPermission(permissions, required));
    if (holders.length > 0) return holders.map(({ email, name }) => ({ email, name }));
    return this.worker.query<Addressee>(PARTNER_ADMINS, [partnerId]);
  }
}
