import type pg from 'pg';

/** The data users see of the organizations of a partner: all columns but versions and times of changes. */
const STATEMENTS = [
  `SELECT o.id, o.name, o.name_key, o.slug, o.type, o.status, o.settings, o.billing_contact, o.created_at, o.deleted_at
     FROM organization o WHERE o.partner_id = $1 AND NOT (o.import_undone AND o.deleted_at IS NOT NULL) ORDER BY o.id`,
  `SELECT s.id, s.org_id, s.name, s.name_key, s.timezone, s.address, s.contact, s.settings, s.created_at
     FROM site s JOIN organization o ON o.id = s.org_id AND NOT (o.import_undone AND o.deleted_at IS NOT NULL)
    WHERE s.partner_id = $1 AND s.deleted_at IS NULL ORDER BY s.id`,
  `SELECT l.id, l.org_id, l.connection_id, l.system, l.external_id, l.created_at
     FROM external_link l WHERE l.partner_id = $1 ORDER BY l.id`,
  `SELECT c.id, c.org_id, c.site_id, c.name, c.name_key, c.email, c.phone, c.mobile, c.title, c.roles, c.is_primary,
          c.notes, c.created_at
     FROM contact c WHERE c.partner_id = $1 ORDER BY c.id`,
  `SELECT l.org_id, l.contact_id, l.system, l.external_id, l.created_at
     FROM contact_link l WHERE l.partner_id = $1 ORDER BY l.org_id, l.system, l.external_id`,
  'SELECT p.organizations, p.devices FROM partner_count p WHERE p.partner_id = $1',
];

/** Returns the organizations, sites, contacts and links of a partner as text, to compare two states byte for byte. */
export async function storedState(admin: pg.Client | pg.Pool, partnerId: string): Promise<string[]> {
  const states: string[] = [];
  for (const statement of STATEMENTS) {
    const { rows } = await admin.query<{ text: string }>(
      `SELECT coalesce(string_agg(t::text, E'\\n'), '') AS text FROM (${statement}) t`,
      [partnerId],
    );
    states.push(rows[0].text);
  }
  return states;
}
