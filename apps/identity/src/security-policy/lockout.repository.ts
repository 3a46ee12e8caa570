import { Injectable } from '@nestjs/common';
import type { PartnerSecurity } from '@rmm/contracts';
import type { SqlExecutor } from '@rmm/persistence';
import { allows } from './security-policy.js';

/** Whose members a change touches, and what would be in force. */
export interface AffectedScope {
  partnerId: string;
  partnerPolicy: PartnerSecurity;
  /** Absent: the partner's own members and those of all its organizations. */
  organization?: { orgId: string; policy: PartnerSecurity };
}

const COUNT_TO = 1_000;

/** Of an organization the new policy where it is the one that changes, else the stored one. Deleted ones have no members. */
const organizationAllows = (method: 'totp' | 'sms', parameter: string) =>
  `case when $4::uuid is null then coalesce((o.settings #>> '{security,allowedMfaMethods,${method}}')::boolean, true)
     else ${parameter}::boolean end`;

const LOCKED_OUT = `
  with member as (
    select pm.user_id, $2::boolean as totp, $3::boolean as sms
      from partner_membership pm where pm.partner_id = $1 and $4::uuid is null
    union all
    select om.user_id, $2 and ${organizationAllows('totp', '$5')}, $3 and ${organizationAllows('sms', '$6')}
      from organization_membership om
      left join organization_security_policy o on o.org_id = om.org_id
      left join organization_directory d on d.org_id = om.org_id
      where om.partner_id = $1 and ($4::uuid is null or om.org_id = $4) and d.deleted is not true
  )
  select count(*)::int as count from (
    select distinct m.user_id from member m join user_account u on u.id = m.user_id
    where u.status = 'active' and u.mfa_enabled and u.mfa_method <> 'passkey'
      and not (m.totp and (u.mfa_method = 'totp' or exists (select from totp_factor t where t.user_id = u.id)))
      and not (m.sms and u.mfa_method = 'sms')
    limit ${COUNT_TO + 1}
  ) locked_out`;

/** Enrolled users whom a policy would leave without any usable factor. Recovery codes are none. @see CONTRACT.md 5.5 */
@Injectable()
export class LockoutRepository {
  /** Under the worker login: the members of all organizations, and their factors. Counting stops at 1000. */
  async count(tx: SqlExecutor, scope: AffectedScope): Promise<{ count: number; countCapped: boolean }> {
    const { partnerId, partnerPolicy, organization } = scope;
    const [row] = await tx.query<{ count: number }>(LOCKED_OUT, [
      partnerId,
      allows(partnerPolicy, 'totp'),
      allows(partnerPolicy, 'sms'),
      organization?.orgId ?? null,
      organization ? allows(organization.policy, 'totp') : null,
      organization ? allows(organization.policy, 'sms') : null,
    ]);
    const found = row?.count ?? 0;
    return { count: Math.min(found, COUNT_TO), countCapped: found > COUNT_TO };
  }
}
