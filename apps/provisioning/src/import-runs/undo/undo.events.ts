import type { Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import type { AuditedChange, AuditedResource, AuditTrail, OutgoingMessage } from '@rmm/messaging';
import { agentsChanged } from '../../devices/device.events.js';
import {
  organizationDomainEvent,
  organizationsAccessChanged,
  organizationsChanged,
} from '../../organizations/organization.events.js';
import { siteEvents } from '../../sites/site.events.js';
import type { JournalScope } from '../journal/import-change.types.js';
import type { UndoPlan } from './undo-plan.types.js';
import type { UndoneRows } from './undo.repository.js';

/** Yields the messages of an undo: an event for each organization and site, and for all of them those that other services need. */
export function* undoMessages(
  audit: Pick<AuditTrail, 'toMessages'>,
  caller: Caller,
  scope: JournalScope,
  plan: UndoPlan,
  written: UndoneRows,
  orgOfContact: ReadonlyMap<string, string>,
): Generator<OutgoingMessage> {
  const { actor } = caller;
  const { partnerId } = scope;
  yield* organizationsChanged(written.organizations, actor);
  if (written.organizations.length > 0) {
    const orgIds = written.organizations.map(({ id }) => id);
    yield organizationsAccessChanged(partnerId, orgIds, 'the import of the organizations is undone');
    yield agentsChanged({ deviceIds: [], orgIds }, { partnerId, orgId: null });
  }
  for (const row of written.organizations) yield organizationDomainEvent('organization.deleted', row, actor);
  for (const row of written.removedSites) yield* siteEvents('site.deleted', row, actor);
  for (const row of written.restoredSites) yield* siteEvents('site.updated', row, actor);
  yield* audit.toMessages(auditedChanges(caller, scope, plan, written, orgOfContact));
}

/** Yields an audit entry for each organization, site and link, and one for the contacts of each organization. */
function* auditedChanges(
  caller: Caller,
  { runId, partnerId }: JournalScope,
  plan: UndoPlan,
  written: UndoneRows,
  orgOfContact: ReadonlyMap<string, string>,
): Generator<AuditedChange> {
  const entry = (
    action: AuditAction,
    resource: AuditedResource,
    details: Record<string, unknown> = {},
  ): AuditedChange => [caller, action, { ...resource, partnerId }, { source: 'import_undo', runId, ...details }];
  for (const { id, name, slug } of written.organizations) {
    yield entry('organization.delete', { type: 'organization', id, name, orgId: id }, { slug });
  }
  for (const { id, name, orgId } of written.removedSites) yield entry('site.delete', { type: 'site', id, name, orgId });
  for (const { id, name, orgId } of written.restoredSites) {
    yield entry('site.update', { type: 'site', id, name, orgId });
  }
  const removed = new Set(plan.removedOrganizations);
  for (const { orgId, system, externalId } of [...plan.removedLinks, ...plan.movedLinks]) {
    if (removed.has(orgId)) continue;
    const organization = { type: 'organization', id: orgId, name: null, orgId };
    yield entry('organization.external_link.delete', organization, { system, externalId });
  }
  for (const [orgId, details] of countContacts(plan, orgOfContact)) {
    yield entry('contact.import.undo', { type: 'organization', id: orgId, name: null, orgId }, details);
  }
}

/** Audit entries outlive contacts, so they have numbers and no names. */
function countContacts(plan: UndoPlan, orgOfContact: ReadonlyMap<string, string>) {
  const counts = new Map<string, { removed: number; restored: number }>();
  const count = (id: string, key: 'removed' | 'restored') => {
    const orgId = orgOfContact.get(id) ?? '';
    const of = counts.get(orgId) ?? { removed: 0, restored: 0 };
    of[key] += 1;
    counts.set(orgId, of);
  };
  for (const id of plan.removedContacts) count(id, 'removed');
  for (const { id } of plan.restoredContacts) count(id, 'restored');
  return counts;
}
