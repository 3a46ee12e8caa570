import type { Actor, OrganizationState } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import type { Organization } from './organization.entity.js';

/** The properties of an organization that its events carry. */
export const STATE_PROPERTIES = ['id', 'partnerId', 'name', 'slug', 'status', 'deletedAt', 'version'] as const;
export type OrganizationStateRow = Pick<Organization, (typeof STATE_PROPERTIES)[number]>;

type OrganizationChange = 'organization.created' | 'organization.updated' | 'organization.deleted';

/** Organizations of one integration event. */
const MAX_CHANGED = 100;

export const toOrganizationState = (row: OrganizationStateRow): OrganizationState => ({
  orgId: row.id,
  partnerId: row.partnerId,
  name: row.name,
  slug: row.slug,
  status: row.status,
  deleted: row.deletedAt !== null,
  version: Number(row.version),
});

/** Returns the integration event for every service that stores a directory of organizations. */
export function organizationEvent(type: OrganizationChange, row: OrganizationStateRow, actor?: Actor): OutgoingMessage {
  const data = toOrganizationState(row);
  const { orgId, partnerId, version } = data;
  return { stream: 'internal', type, aggregateId: orgId, aggregateVersion: version, partnerId, orgId, actor, data };
}

/** Yields the integration events of an import or its undo, one for each 100 organizations. */
export function* organizationsChanged(rows: readonly OrganizationStateRow[], actor: Actor): Generator<OutgoingMessage> {
  for (let from = 0; from < rows.length; from += MAX_CHANGED) {
    const organizations = rows.slice(from, from + MAX_CHANGED).map(toOrganizationState);
    const [{ partnerId }] = organizations as [OrganizationState];
    const data = { organizations };
    yield {
      stream: 'internal',
      type: 'organizations.changed',
      aggregateId: partnerId,
      partnerId,
      orgId: null,
      actor,
      data,
    };
  }
}

/** Returns the domain event of a change, which webhooks get. */
export function organizationDomainEvent(
  type: OrganizationChange,
  row: OrganizationStateRow,
  actor?: Actor,
): OutgoingMessage {
  const { id: organizationId, partnerId, name, slug, status } = row;
  const data = { organizationId, name, slug, status };
  const aggregate = { aggregateId: organizationId, aggregateVersion: Number(row.version) };
  return { stream: 'events', type, ...aggregate, partnerId, orgId: organizationId, actor, data };
}

/** Returns the integration event and the domain event of a change by a caller. */
export const organizationEvents = (
  type: OrganizationChange,
  row: OrganizationStateRow,
  actor?: Actor,
): OutgoingMessage[] => [organizationEvent(type, row, actor), organizationDomainEvent(type, row, actor)];

/** Returns the broadcast that drops cached access of members and keys after a change of status, deletion or restoration. */
export const organizationAccessChanged = ({
  id,
  partnerId,
  status,
  deletedAt,
}: OrganizationStateRow): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'access.changed',
  aggregateId: id,
  partnerId,
  orgId: id,
  data: { orgIds: [id], reason: `organization is ${deletedAt === null ? status : 'deleted'}` },
});

/** Returns the broadcast that drops cached access of members and keys of organizations of one partner. */
export const organizationsAccessChanged = (partnerId: string, orgIds: string[], reason: string): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'access.changed',
  aggregateId: partnerId,
  partnerId,
  orgId: null,
  data: { orgIds, reason },
});
