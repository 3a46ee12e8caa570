import { type AccessChanged, type Actor, type OrganizationState, type OrganizationStatus } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';

/** The columns that a fact tells of, as the repository reads them. */
export interface OrganizationRow {
  id: string;
  partnerId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
  deletedAt: Date | null;
  /** bigint: text from the database. */
  version: string | number;
}

export const FACT_COLUMNS = `id, partner_id as "partnerId", name, slug, status, deleted_at as "deletedAt", version`;

export type OrganizationFactType = 'organization.created' | 'organization.updated' | 'organization.deleted';

export const toOrganizationFact = (row: OrganizationRow): OrganizationState => ({
  orgId: row.id,
  partnerId: row.partnerId,
  name: row.name,
  slug: row.slug,
  status: row.status,
  deleted: row.deletedAt !== null,
  version: Number(row.version),
});

/** The fact, on its way to every service that keeps a directory. */
export function organizationMessage(type: OrganizationFactType, row: OrganizationRow, actor?: Actor): OutgoingMessage {
  const fact = toOrganizationFact(row);
  return {
    stream: 'internal',
    type,
    aggregateId: fact.orgId,
    aggregateVersion: fact.version,
    partnerId: fact.partnerId,
    orgId: fact.orgId,
    actor,
    data: fact,
  };
}

/** An organization went out of business or came back: whoever remembers its members and keys must look again. */
export const organizationAccessChanged = (row: OrganizationRow): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'access.changed',
  aggregateId: row.id,
  partnerId: row.partnerId,
  orgId: row.id,
  data: { orgIds: [row.id], reason: `organization is ${row.status}` } satisfies AccessChanged,
});
