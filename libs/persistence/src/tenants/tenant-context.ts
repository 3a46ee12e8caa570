/**
 * The tenant a query runs for: row-level security compares rows with these values.
 * It comes from an authenticated caller (access snapshot, key record), never from what the request says about itself.
 */
export interface TenantContext {
  readonly scope: 'system' | 'partner' | 'organization' | 'none';
  readonly partnerId: string | null;
  readonly orgId: string | null;
  readonly orgAccess: 'all' | 'selected' | 'none';
  /** The organizations of `selected`. */
  readonly orgIds: readonly string[];
  readonly userId: string | null;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** The caller of a tenant-scoped query; every Caller has a tenant. */
export interface HasTenant {
  tenant: TenantContext;
}

/** The transaction-local settings that policies read, in the order of the first value of `tenantSettingValues`. */
const TENANT_SETTINGS = ['rmm.scope', 'rmm.partner_id', 'rmm.org_id', 'rmm.org_access', 'rmm.user_id'] as const;
const SEPARATOR = ',';

/**
 * Returns one SQL expression that sets every setting until the end of the transaction. It binds two parameters: the driver
 * takes longer to send a parameter for each setting than the server to split them.
 * @param firstParameter number of the first of the two parameters
 */
export function setTenantSettings(firstParameter: number): string {
  const short = TENANT_SETTINGS.map(
    (name, i) => `set_config('${name}', split_part($${firstParameter}, '${SEPARATOR}', ${i + 1}), true)`,
  );
  return [...short, `set_config('rmm.org_ids', $${firstParameter + 1}, true)`].join(' || ');
}

type SettingValues = [settings: string, orgIds: string];

/** The values of a tenant are formatted once: it lives as long as the access of its caller, and is not changed. */
const formatted = new WeakMap<TenantContext, SettingValues>();

/** Returns the two values to bind. @throws Error for a selected organization whose id is not a UUID, and for a separator in a value */
export function tenantSettingValues(tenant: TenantContext): SettingValues {
  const known = formatted.get(tenant);
  if (known !== undefined) return known;
  const values = [tenant.scope, tenant.partnerId ?? '', tenant.orgId ?? '', tenant.orgAccess, tenant.userId ?? ''];
  if (values.some((value) => value.includes(SEPARATOR))) throw new Error('An id of the tenant contains a separator');
  const settings: SettingValues = [values.join(SEPARATOR), encodeIds(tenant.orgIds).setting];
  formatted.set(tenant, settings);
  return settings;
}

/**
 * Returns the caller with access to one of its selected organizations, or to none when that one is not selected; any other
 * caller as it is. For statements about one organization: they then cost the same for a thousand selected ones.
 */
export function restrictToOrganization<C extends HasTenant>(caller: C, orgId: string): C {
  const { scope, orgAccess, orgIds } = caller.tenant;
  if (scope !== 'partner' || orgAccess !== 'selected') return caller;
  const named = orgId.toLowerCase();
  return { ...caller, tenant: { ...caller.tenant, orgIds: orgIds.filter((id) => id.toLowerCase() === named) } };
}

/** The ids of a list in the forms that PostgreSQL reads fastest. */
interface EncodedIds {
  /** The hexadecimal digits of each, separated by commas: policies compare the bytes of an id. */
  setting: string;
  /** A parameter of type `uuid[]` in binary format. */
  parameter: Buffer;
}

/** A thousand ids are encoded once per list, which lives as long as the access of its caller. */
const encoded = new WeakMap<readonly string[], EncodedIds>();

/** @throws Error for an id that is not a UUID */
export function encodeIds(ids: readonly string[]): EncodedIds {
  const known = encoded.get(ids);
  if (known !== undefined) return known;
  if (!ids.every((id) => UUID.test(id))) throw new Error('The id of a selected organization is not a UUID');
  const digits = ids.map((id) => id.replaceAll('-', '').toLowerCase());
  const forms = { setting: digits.join(','), parameter: toBinaryArray(digits) };
  encoded.set(ids, forms);
  return forms;
}

const UUID_TYPE = 2950;
const UUID_BYTES = 16;

/** Dimensions, flags, type, length and lower bound; then the length and the bytes of each element. */
function toBinaryArray(digits: readonly string[]): Buffer {
  const header = Buffer.alloc(20);
  [1, 0, UUID_TYPE, digits.length, 1].forEach((value, i) => header.writeInt32BE(value, i * 4));
  const length = Buffer.alloc(4);
  length.writeInt32BE(UUID_BYTES);
  return Buffer.concat([header, ...digits.flatMap((id) => [length, Buffer.from(id, 'hex')])]);
}
