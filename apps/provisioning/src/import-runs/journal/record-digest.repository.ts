/**
 * SQL expressions for the contents of records, by which an undo recognizes that they were not changed: everything users
 * write, without versions and times of changes. Contents that an undo restored have their former digest again, so that
 * earlier imports can be undone too.
 */
const digest = (fields: readonly string[]) => (alias: string) =>
  `md5(jsonb_build_array(${fields.map((field) => field.replaceAll('?', alias)).join(', ')})::text)::uuid`;

export const organizationDigest = digest([
  '?.name',
  '?.slug',
  '?.type',
  '?.status',
  '?.settings',
  'extract(epoch FROM ?.contract_start)',
  'extract(epoch FROM ?.contract_end)',
  '?.billing_contact',
  'extract(epoch FROM ?.deleted_at)',
]);

export const siteDigest = digest(['?.name', '?.timezone', '?.address', '?.contact', '?.settings']);

export const contactDigest = digest([
  '?.site_id',
  '?.name',
  '?.name_key',
  '?.email',
  '?.phone',
  '?.mobile',
  '?.title',
  '?.roles',
  '?.is_primary',
  '?.notes',
]);
