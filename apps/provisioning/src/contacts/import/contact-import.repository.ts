import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { contactDigest } from '../../import-runs/journal/record-digest.repository.js';
import { nameKey } from '../../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { ContactImportState, ContactWrite, ImportedContact, LinkedContact } from './contact-plan.policy.js';
import type { ContactRow } from './contact-rows.js';

/** Row-level security limits the organizations to those the caller can access. */
const ORGANIZATIONS = `
  SELECT o.id, o.name, o.name_key AS "nameKey",
         (SELECT count(*)::int FROM (SELECT FROM contact c WHERE c.org_id = o.id LIMIT :maxContacts) AS c) AS contacts
    FROM organization o
   WHERE o.partner_id = :partnerId AND ${ACTIVE_ORGANIZATION}
     AND o.id IN (SELECT unnest(:ids::uuid[]) UNION
                  SELECT n.id FROM organization n WHERE n.partner_id = :partnerId AND n.name_key = ANY (:nameKeys::text[]))
   ORDER BY o.created_at, o.id`;

const SITES = `
  SELECT s.id, s.org_id AS "orgId", s.name_key AS "nameKey" FROM site s
   WHERE s.partner_id = :partnerId AND s.org_id = ANY (:orgIds::uuid[]) AND s.name_key = ANY (:siteKeys::text[])
     AND s.deleted_at IS NULL`;

const LINKS = `
  SELECT l.org_id AS "orgId", l.system, l.external_id AS "externalId", l.contact_id AS "contactId"
    FROM unnest(:systems::text[], :externalIds::text[]) AS r(system, external_id)
    JOIN contact_link l ON l.org_id = ANY (:orgIds::uuid[]) AND l.system = r.system AND l.external_id = r.external_id
   WHERE l.partner_id = :partnerId`;

const CONTACTS = `
  SELECT c.id, c.org_id AS "orgId", c.site_id AS "siteId", c.name, c.name_key AS "nameKey", c.email, c.phone, c.mobile,
         c.title, c.roles
    FROM contact c
   WHERE c.partner_id = :partnerId AND c.id IN (
     SELECT unnest(:contactIds::uuid[]) UNION
     SELECT e.id FROM contact e WHERE e.org_id = ANY (:orgIds::uuid[]) AND e.email = ANY (:emails::text[]) UNION
     SELECT n.id FROM contact n WHERE n.org_id = ANY (:orgIds::uuid[]) AND n.name_key = ANY (:nameKeys::text[]))
   ORDER BY c.created_at, c.id`;

const FIELDS = `id uuid, "orgId" uuid, "siteId" uuid, name text, "nameKey" text, email text, phone text, mobile text,
  title text, roles jsonb`;
const ROLES = 'ARRAY(SELECT jsonb_array_elements_text(n.roles))';

const INSERT_CONTACTS = `
  INSERT INTO contact AS c (partner_id, id, org_id, site_id, name, name_key, email, phone, mobile, title, roles)
  SELECT :partnerId, n.id, n."orgId", n."siteId", n.name, n."nameKey", n.email, n.phone, n.mobile, n.title, ${ROLES}
    FROM jsonb_to_recordset(:rows::jsonb) AS n(${FIELDS})
  RETURNING c.id, c.org_id AS "orgId", ${contactDigest('c')} AS digest`;

/**
 * The rows are locked before their former values are read, so that no change comes between. Rows of one contact may change
 * it back: then nothing is written.
 */
const UPDATE_CONTACTS = `
  WITH former AS (
    SELECT f.*, ${contactDigest('f')} AS digest
      FROM contact f JOIN jsonb_to_recordset(:rows::jsonb) AS n(${FIELDS}) ON n.id = f.id
     WHERE f.partner_id = :partnerId
       AND (f.site_id, f.name, f.name_key, f.email, f.phone, f.mobile, f.title, f.roles) IS DISTINCT FROM
           (n."siteId", n.name, n."nameKey", n.email, n.phone, n.mobile, n.title, ${ROLES})
     ORDER BY f.id FOR NO KEY UPDATE OF f)
  UPDATE contact c
     SET site_id = n."siteId", name = n.name, name_key = n."nameKey", email = n.email, phone = n.phone,
         mobile = n.mobile, title = n.title, roles = ${ROLES}
    FROM jsonb_to_recordset(:rows::jsonb) AS n(${FIELDS}) JOIN former ON former.id = n.id
   WHERE c.partner_id = :partnerId AND c.id = n.id
  RETURNING c.id, c.org_id AS "orgId", ${contactDigest('c')} AS digest, former.digest AS "digestBefore",
    jsonb_build_object('siteId', former.site_id, 'name', former.name, 'nameKey', former.name_key, 'email', former.email,
      'phone', former.phone, 'mobile', former.mobile, 'title', former.title, 'roles', former.roles) AS before`;

const INSERT_LINKS = `
  INSERT INTO contact_link (partner_id, org_id, contact_id, system, external_id)
  SELECT :partnerId, n."orgId", n."contactId", n.system, n."externalId"
    FROM jsonb_to_recordset(:rows::jsonb) AS n("orgId" uuid, "contactId" uuid, system text, "externalId" text)`;

interface WrittenContact {
  id: string;
  orgId: string;
  digest: string;
}

interface UpdatedContact extends WrittenContact {
  before: object;
  digestBefore: string;
}

/** The rows as stored, with the former values of changed ones. */
export interface WrittenContacts {
  created: WrittenContact[];
  updated: UpdatedContact[];
  links: LinkedContact[];
}

/** Reads the state of a contact import and writes its changes, with a fixed number of statements. */
@Injectable()
export class ContactImportRepository {
  /** Reads what the rows may refer to. */
  async loadState(
    tx: TenantTransaction,
    partnerId: string,
    rows: readonly ContactRow[],
    maxContacts: number,
  ): Promise<ContactImportState> {
    const organizations = await tx.query<ContactImportState['organizations'][number]>(ORGANIZATIONS, {
      partnerId,
      ids: unique(rows.map((row) => row.organizationId)),
      nameKeys: unique(rows.map((row) => (row.organization === null ? null : nameKey(row.organization)))),
      maxContacts,
    });
    const orgIds = organizations.map(({ id }) => id);
    if (orgIds.length === 0) return { organizations, sites: [], contacts: [], links: [], maxContacts };
    const linked = rows.filter((row) => row.externalId !== null);
    const siteKeys = unique(rows.map((row) => (row.site === null ? null : nameKey(row.site))));
    const sites = await tx.query<ContactImportState['sites'][number]>(SITES, { partnerId, orgIds, siteKeys });
    const links = await tx.query<ContactImportState['links'][number]>(LINKS, {
      partnerId,
      orgIds,
      systems: linked.map((row) => row.externalSystem),
      externalIds: linked.map((row) => row.externalId),
    });
    const contacts = await tx.query<ImportedContact>(CONTACTS, {
      partnerId,
      orgIds,
      contactIds: unique(links.map(({ contactId }) => contactId)),
      emails: unique(rows.map((row) => row.email)),
      nameKeys: unique(rows.map((row) => row.nameKey || null)),
    });
    return { organizations, sites, contacts, links, maxContacts };
  }

  /** Writes new contacts, changed ones (the last state of each) and links. */
  async write(tx: SqlExecutor, partnerId: string, writes: readonly ContactWrite[]): Promise<WrittenContacts> {
    const changed = new Map(
      writes.filter(({ change }) => change === 'update').map(({ contact }) => [contact.id, contact]),
    );
    const links = writes.flatMap(({ contact, link }) =>
      link === null ? [] : [{ orgId: contact.orgId, contactId: contact.id, ...link }],
    );
    const created = writes.filter(({ change }) => change === 'insert').map(({ contact }) => contact);
    const save = <Row>(sql: string, rows: readonly object[]): Promise<Row[]> =>
      rows.length === 0 ? Promise.resolve([]) : tx.query<Row>(sql, { partnerId, rows: JSON.stringify(rows) });
    const written = {
      created: await save<WrittenContact>(INSERT_CONTACTS, created),
      updated: await save<UpdatedContact>(UPDATE_CONTACTS, [...changed.values()]),
      links,
    };
    await save(INSERT_LINKS, links);
    return written;
  }
}

const unique = (values: readonly (string | null)[]): string[] => [...new Set(values.filter((value) => value !== null))];
