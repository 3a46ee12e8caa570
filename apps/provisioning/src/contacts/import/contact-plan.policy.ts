import type { ImportMode } from '../../import/import-decision.policy.js';
import { nameKey } from '../../organizations/name-key.js';
import type { ContactLink } from '../contact-link.entity.js';
import type { Contact } from '../contact.entity.js';
import type { ContactAnnotation, ContactRow, RowRefusal } from './contact-rows.js';
import type { ContactErrorDto, SkippedContactDto, WrittenContactDto } from './dto/contact-import-results.dto.js';

/** The fields of a contact that an import reads and writes. */
export type ImportedContact = Pick<
  Contact,
  'id' | 'orgId' | 'siteId' | 'name' | 'nameKey' | 'email' | 'phone' | 'mobile' | 'title' | 'roles'
>;

export type LinkedContact = Pick<ContactLink, 'orgId' | 'system' | 'externalId' | 'contactId'>;

/** The stored organizations, sites and contacts that the rows may name. */
export interface ContactImportState {
  /** Organizations that the caller can access. */
  organizations: readonly { id: string; name: string; nameKey: string; contacts: number }[];
  sites: readonly { id: string; orgId: string; nameKey: string }[];
  contacts: readonly ImportedContact[];
  links: readonly LinkedContact[];
  /** Contacts of one organization. */
  maxContacts: number;
}

/** The effect of an import on one row. */
export interface PlannedContact {
  row: ContactRow;
  annotation: ContactAnnotation;
  organization: { id: string; name: string } | null;
  siteId: string | null;
  match: ImportedContact | null;
  /** True when the match is a contact that an earlier row creates. */
  isMatchNew: boolean;
  refusal: RowRefusal | null;
  warning: string | null;
}

/** The rows to write for one decision. */
export interface ContactWrite {
  /** Its state after the row. */
  contact: ImportedContact;
  change: 'insert' | 'update' | 'none';
  link: { system: string; externalId: string } | null;
}

export interface ContactDecision {
  row: ContactRow;
  write: ContactWrite | null;
  result:
    | { list: 'imported' | 'updated'; item: WrittenContactDto }
    | { list: 'skipped'; item: SkippedContactDto }
    | { list: 'errors'; item: ContactErrorDto };
}

const keyOf = (...parts: readonly string[]): string => JSON.stringify(parts);

/**
 * Decides on the rows of a contact import one after the other: a row sees what earlier ones did. Shared by preview and
 * commit, so that both find the same. Contacts are matched by link, then by e-mail address, then by name.
 * @see docs/reference/provisioning.md#contact-import
 */
export class ContactPlanner {
  private readonly organizations = new Map<string, { id: string; name: string; nameKey: string; contacts: number }>();
  private readonly organizationsByName = new Map<string, string[]>();
  private readonly sites = new Map<string, string>();
  private readonly contacts = new Map<string, ImportedContact>();
  private readonly idsByEmail = new Map<string, Set<string>>();
  private readonly idsByName = new Map<string, Set<string>>();
  private readonly links = new Map<string, string>();
  private readonly created = new Set<string>();
  private readonly repeatedLinks: ReadonlySet<string>;

  constructor(
    rows: readonly ContactRow[],
    private readonly state: ContactImportState,
    private readonly newId: () => string,
  ) {
    for (const organization of state.organizations) {
      this.organizations.set(organization.id, { ...organization });
      const known = this.organizationsByName.get(organization.nameKey) ?? [];
      this.organizationsByName.set(organization.nameKey, [...known, organization.id]);
    }
    for (const { id, orgId, nameKey: key } of state.sites) this.sites.set(keyOf(orgId, key), id);
    for (const contact of state.contacts) this.remember(contact);
    for (const { orgId, system, externalId, contactId } of state.links) {
      this.links.set(keyOf(orgId, system, externalId), contactId);
    }
    this.repeatedLinks = this.findRepeatedLinks(rows);
  }

  /** Returns the effect of a row, as a preview shows it; a new contact counts for the rows after it. */
  preview(row: ContactRow): PlannedContact {
    const planned = this.plan(row);
    if (planned.annotation === 'create') this.create(planned);
    return planned;
  }

  /** Decides on a row; its changes count for the rows after it. */
  decide(row: ContactRow, mode: ImportMode): ContactDecision {
    const planned = this.plan(row);
    const refusal = findUnmetExpectation(planned) ?? planned.refusal ?? this.findFullOrganization(planned);
    if (refusal) return refuseRow(row, refusal);
    if (planned.annotation === 'create') return this.toDecision(planned, this.create(planned), 'imported');
    const { match } = planned;
    if (match === null) throw new Error(`row ${row.index} is ${planned.annotation} and has no match`);
    if (planned.annotation === 'link-match' && mode === 'skip') {
      const item: SkippedContactDto = {
        index: row.index,
        organizationId: match.orgId,
        contactId: match.id,
        reason: 'already_linked',
      };
      return { row, write: null, result: { list: 'skipped', item } };
    }
    return this.toDecision(planned, this.merge(planned, match), 'updated');
  }

  private plan(row: ContactRow): PlannedContact {
    const planned: PlannedContact = {
      row,
      annotation: 'conflict',
      organization: null,
      siteId: null,
      match: null,
      isMatchNew: false,
      refusal: null,
      warning: null,
    };
    const refuse = (refusal: RowRefusal, annotation: ContactAnnotation = 'conflict') =>
      Object.assign(planned, { annotation, refusal });
    const named = this.findOrganizations(row);
    const field = row.organizationId === null ? 'organization' : 'organizationId';
    if (named.length === 0) {
      return refuse({ code: 'org-not-found', text: 'The organization was not found', field }, 'org-not-found');
    }
    if (named.length > 1) return refuse({ code: 'row-conflict', text: 'Several organizations have this name', field });
    const [organization] = named;
    if (!organization) return planned;
    planned.organization = { id: organization.id, name: organization.name };
    if (row.refusal) return Object.assign(planned, { refusal: row.refusal });
    if (row.site !== null) {
      const siteId = this.sites.get(keyOf(organization.id, nameKey(row.site)));
      if (siteId === undefined) {
        return refuse({ code: 'site-not-in-org', text: 'The organization has no site of this name', field: 'site' });
      }
      planned.siteId = siteId;
    }
    return this.match(planned, organization.id, refuse);
  }

  private match(
    planned: PlannedContact,
    orgId: string,
    refuse: (refusal: RowRefusal) => PlannedContact,
  ): PlannedContact {
    const { row } = planned;
    if (row.externalId !== null) {
      const key = keyOf(orgId, row.externalSystem, row.externalId);
      if (this.repeatedLinks.has(key)) {
        return refuse({ code: 'row-conflict', text: 'Several rows have this externalId', field: 'externalId' });
      }
      const linked = this.links.get(key);
      if (linked !== undefined) return this.matched(planned, 'link-match', linked);
    }
    const hints = [
      [
        'email-match',
        row.email === null ? undefined : this.idsByEmail.get(keyOf(orgId, row.email)),
        'e-mail address',
        'email',
      ],
      ['name-match', row.nameKey === '' ? undefined : this.idsByName.get(keyOf(orgId, row.nameKey)), 'name', 'name'],
    ] as const;
    for (const [annotation, ids, hint, field] of hints) {
      const [id, ...others] = ids ?? [];
      if (id === undefined) continue;
      if (others.length === 0) return this.matched(planned, annotation, id);
      const text = `${others.length + 1} contacts have this ${hint}`;
      if (row.externalId === null) return refuse({ code: 'row-conflict', text, field });
      return Object.assign(planned, { annotation: 'create', warning: `${text}; the row becomes another contact` });
    }
    return Object.assign(planned, { annotation: 'create' });
  }

  private matched(planned: PlannedContact, annotation: ContactAnnotation, id: string): PlannedContact {
    const match = this.contacts.get(id) ?? null;
    return Object.assign(planned, { annotation, match, isMatchNew: this.created.has(id) });
  }

  private findOrganizations({ organizationId, organization }: ContactRow) {
    const ids = organizationId !== null ? [organizationId] : this.organizationsByName.get(nameKey(organization ?? ''));
    return (ids ?? []).flatMap((id) => this.organizations.get(id) ?? []);
  }

  private findFullOrganization({ annotation, organization }: PlannedContact): RowRefusal | null {
    const contacts = organization ? (this.organizations.get(organization.id)?.contacts ?? 0) : 0;
    if (annotation !== 'create' || contacts < this.state.maxContacts) return null;
    return { code: 'write-failed', text: `The organization has ${this.state.maxContacts} contacts already` };
  }

  private create({ row, organization, siteId }: PlannedContact): ContactWrite {
    if (organization === null) throw new Error(`row ${row.index} has no organization`);
    const { name, nameKey: key, email, phone, mobile, title, roles } = row;
    const id = this.newId();
    const contact = { id, orgId: organization.id, siteId, name, nameKey: key, email, phone, mobile, title, roles };
    this.created.add(id);
    this.remember(contact);
    const counted = this.organizations.get(organization.id);
    if (counted) counted.contacts += 1;
    return { contact, change: 'insert', link: this.link(row, contact) };
  }

  /** Blank columns keep what is stored. */
  private merge({ row, siteId }: PlannedContact, stored: ImportedContact): ContactWrite {
    const contact: ImportedContact = {
      ...stored,
      siteId: siteId ?? stored.siteId,
      name: row.name ?? stored.name,
      nameKey: row.name === null ? stored.nameKey : row.nameKey,
      email: row.email ?? stored.email,
      phone: row.phone ?? stored.phone,
      mobile: row.mobile ?? stored.mobile,
      title: row.title ?? stored.title,
      roles: row.roles.length > 0 ? row.roles : stored.roles,
    };
    const isChanged = JSON.stringify(contact) !== JSON.stringify(stored);
    this.remember(contact);
    return { contact, change: isChanged ? 'update' : 'none', link: this.link(row, contact) };
  }

  private link({ externalId, externalSystem: system }: ContactRow, { id, orgId }: ImportedContact) {
    if (externalId === null) return null;
    const key = keyOf(orgId, system, externalId);
    if (this.links.has(key)) return null;
    this.links.set(key, id);
    return { system, externalId };
  }

  /** Replaces what is known of a contact and of the contacts with its address and name. */
  private remember(contact: ImportedContact): void {
    const before = this.contacts.get(contact.id);
    if (before) {
      this.idsByEmail.get(keyOf(before.orgId, before.email ?? ''))?.delete(before.id);
      this.idsByName.get(keyOf(before.orgId, before.nameKey))?.delete(before.id);
    }
    this.contacts.set(contact.id, contact);
    addTo(this.idsByEmail, keyOf(contact.orgId, contact.email ?? ''), contact.id);
    addTo(this.idsByName, keyOf(contact.orgId, contact.nameKey), contact.id);
  }

  private findRepeatedLinks(rows: readonly ContactRow[]): Set<string> {
    const seen = new Set<string>();
    const repeated = new Set<string>();
    for (const row of rows) {
      const [organization] = this.findOrganizations(row);
      if (!organization || row.externalId === null) continue;
      const key = keyOf(organization.id, row.externalSystem, row.externalId);
      if (seen.has(key)) repeated.add(key);
      seen.add(key);
    }
    return repeated;
  }

  private toDecision({ row }: PlannedContact, write: ContactWrite, list: 'imported' | 'updated'): ContactDecision {
    const { id, orgId, name } = write.contact;
    const createdLink = write.link !== null;
    return {
      row,
      write,
      result: { list, item: { index: row.index, organizationId: orgId, contactId: id, name, createdLink } },
    };
  }
}

/** Refuses a row alone; the others are imported. */
export function refuseRow(row: ContactRow, { code, text, field }: RowRefusal): ContactDecision {
  const { index, organization } = row;
  const named = organization !== null && { organization };
  const item = { index, ...named, error: text, code, ...(field !== undefined && { field }) };
  return { row, write: null, result: { list: 'errors', item } };
}

/**
 * Compares the plan with the preview that the caller saw, and asks for its confirmation where a contact is matched by its
 * address or name only.
 */
function findUnmetExpectation({ row, annotation, match, isMatchNew }: PlannedContact): RowRefusal | null {
  const { expectedAnnotation, expectedContactId } = row;
  if (expectedAnnotation !== null && expectedAnnotation !== annotation) {
    const text = `The row was "${expectedAnnotation}" and is now "${annotation}"`;
    return { code: 'annotation-changed', text, field: 'expectedAnnotation' };
  }
  const matchId = isMatchNew ? null : (match?.id ?? null);
  if (expectedContactId !== null && expectedContactId !== matchId) {
    return { code: 'match-changed', text: 'The row now matches another contact', field: 'expectedContactId' };
  }
  const isHint = annotation === 'email-match' || annotation === 'name-match';
  if (!isHint || (expectedAnnotation !== null && expectedContactId !== null)) return null;
  const field = expectedAnnotation === null ? 'expectedAnnotation' : 'expectedContactId';
  return {
    code: 'match-unconfirmed',
    text: 'Repeat annotation and contactId of the preview to confirm the match',
    field,
  };
}

function addTo(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key);
  if (ids) ids.add(id);
  else index.set(key, new Set([id]));
}
