/**
 * The conditions of row-level security, as SQL for policies.
 *
 * They are plain expressions of built-in functions, not calls of functions of our own: nothing to grant or to version,
 * `current_setting` is stable and parallel safe, and there is nothing to inline. LEAKPROOF, which only a superuser may
 * declare, is not needed: it would say that a *query's* function may see rows before the policy has passed them, while
 * these are the policy. What it does mean for queries: an index serves under a policy only through leak-proof
 * operators (comparison of uuid, text, numbers and times are; `ilike`, full text and jsonb operators are not, they
 * filter the rows that the policy and other indexes left).
 *
 * Settings are read in sub-selects: PostgreSQL evaluates these once per statement instead of once per row, and makes a hash
 * table of the selected organizations. No index serves a policy, since `case` hides its conditions: the statements
 * themselves name the tenant (`ownerCondition`).
 *
 * Unset or empty settings match nothing: `nullif` makes them null, and null is not true.
 */
const setting = (name: string) => `current_setting('rmm.${name}', true)`;
const idOf = (name: string) => `(select nullif(${setting(name)}, '')::uuid)`;

export const OWN_PARTNER = idOf('partner_id');
export const OWN_ORGANIZATION = idOf('org_id');
export const OWN_USER = idOf('user_id');
/**
 * The bytes of the selected organizations: for a thousand of them the conversion to uuid costs twice as much, and the
 * comparison of their texts twice as much for each row.
 */
const SELECTED_ORGANIZATIONS = `select decode(unnest(string_to_array(${setting('org_ids')}, ',')), 'hex')`;
/**
 * True in the sessions of the platform pool alone, whose login (the worker's) acts in the role of the service login. A
 * service login is no member of another role that may act as it, so no setting makes it see all tenants.
 */
const IS_PLATFORM_LOGIN = '(select session_user <> current_user)';

export interface TenantColumns {
  partnerId: string;
  orgId: string;
  userId: string;
}

export const DEFAULT_COLUMNS: TenantColumns = { partnerId: 'partner_id', orgId: 'org_id', userId: 'user_id' };

/** The conditions for reading and writing a row. */
export interface Rule {
  read: string;
  write: string;
}

/** Owned by one organization: its own callers, and those of its partner with access to it. */
export function organizationRule(columns: TenantColumns = DEFAULT_COLUMNS): Rule {
  const { partnerId, orgId } = columns;
  return same(byScope(`${partnerId} = ${OWN_PARTNER} and (${isAccessible(orgId)})`, `${orgId} = ${OWN_ORGANIZATION}`));
}

/** Owned by the partner as a whole. Writes by members with `selected` organizations are refused by guards. */
export function partnerRule(columns: TenantColumns = DEFAULT_COLUMNS): Rule {
  return same(byScope(`${columns.partnerId} = ${OWN_PARTNER}`, 'false'));
}

/**
 * Owned by an organization, or partner-wide where the organization is null. Organization callers also read their own
 * partner's partner-wide rows, and write only their own.
 */
export function dualRule(columns: TenantColumns = DEFAULT_COLUMNS): Rule {
  const { partnerId, orgId } = columns;
  const asPartner = `${partnerId} = ${OWN_PARTNER} and (${orgId} is null or ${isAccessible(orgId)})`;
  const own = `${orgId} = ${OWN_ORGANIZATION}`;
  const partnerWide = `(${orgId} is null and ${partnerId} = ${OWN_PARTNER})`;
  return { read: byScope(asPartner, `${own} or ${partnerWide}`), write: byScope(asPartner, own) };
}

/** Private to one user, whatever the scope. */
export function userRule(columns: TenantColumns = DEFAULT_COLUMNS): Rule {
  return same(`${columns.userId} = ${OWN_USER}`);
}

/** `case` evaluates only the branch of the caller's scope; a scope that is none of the three matches nothing. */
function byScope(asPartner: string, asOrganization: string): string {
  return (
    `case (select ${setting('scope')}) when 'partner' then ${asPartner} ` +
    `when 'organization' then ${asOrganization} when 'system' then ${IS_PLATFORM_LOGIN} else false end`
  );
}

function isAccessible(orgId: string): string {
  return (
    `case (select ${setting('org_access')}) when 'all' then true ` +
    `when 'selected' then uuid_send(${orgId}) in (${SELECTED_ORGANIZATIONS}) else false end`
  );
}

function same(condition: string): Rule {
  return { read: condition, write: condition };
}
