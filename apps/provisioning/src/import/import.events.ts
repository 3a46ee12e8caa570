import type { Caller } from '@rmm/access';
import type { Actor, AuditAction, AuditEntry } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';
import { currentContext } from '@rmm/service-kit';
import { organizationEvent } from '../organizations/organization.events.js';
import { siteEvent } from '../sites/site.events.js';
import type { WrittenRows } from './import.repository.js';

/**
 * Returns the messages of an import, to be published with one statement: an integration event for each organization and
 * site, one audit entry for each new organization (its link and sites in the details) and one for each change of an
 * existing one.
 */
export function importMessages(caller: Caller, partnerId: string, written: WrittenRows): OutgoingMessage[] {
  const { actor } = caller;
  const entries = new AuditEntries(caller, partnerId);
  const created = new Set(written.organizations.map((row) => row.id));
  const linksOf = groupBy(written.links, (link) => link.orgId);
  const sitesOf = groupBy(written.newSites, (site) => site.orgId);
  const addedLinks = written.links.filter((link) => !created.has(link.orgId));
  const addedSites = written.newSites.filter((site) => !created.has(site.orgId));
  return [
    ...written.organizations.map((row) => organizationEvent('organization.created', row, actor)),
    ...written.reactivated.map((row) => organizationEvent('organization.updated', row, actor)),
    ...written.newSites.map((row) => siteEvent('site.created', row, actor)),
    ...written.patchedSites.map((row) => siteEvent('site.updated', row, actor)),
    ...written.organizations.map((row) =>
      entries.forOrganization('organization.create', row.id, row.name, {
        slug: row.slug,
        externalLinks: (linksOf.get(row.id) ?? []).map(({ system, externalId }) => ({ system, externalId })),
        sites: (sitesOf.get(row.id) ?? []).map(({ id, name }) => ({ id, name })),
      }),
    ),
    ...written.reactivated.map((row) =>
      entries.forOrganization('organization.reactivate', row.id, row.name, { slug: row.slug }),
    ),
    ...addedLinks.map(({ orgId, system, externalId }) =>
      entries.forOrganization('organization.external_link.create', orgId, null, { system, externalId }),
    ),
    ...addedSites.map((row) => entries.forSite('site.create', row)),
    ...written.patchedSites.map((row) => entries.forSite('site.update', row)),
  ];
}

/** Builds audit entries in the form of `AuditTrail.record`, to publish many with one statement. */
class AuditEntries {
  private readonly actor: Actor;
  private readonly context = currentContext();

  constructor(
    caller: Caller,
    private readonly partnerId: string,
  ) {
    this.actor = { type: caller.actor.type, id: caller.actor.id, email: caller.actor.email ?? null };
    if (this.context) this.context.audited = true;
  }

  forOrganization(
    action: AuditAction,
    id: string,
    name: string | null,
    details: Record<string, unknown>,
  ): OutgoingMessage {
    return this.entry(action, { type: 'organization', id, name, orgId: id }, details);
  }

  forSite(action: AuditAction, { id, name, orgId }: { id: string; name: string; orgId: string }): OutgoingMessage {
    return this.entry(action, { type: 'site', id, name, orgId }, {});
  }

  private entry(
    action: AuditAction,
    { type, id, name, orgId }: { type: string; id: string; name: string | null; orgId: string },
    details: Record<string, unknown>,
  ): OutgoingMessage {
    const { actor, context, partnerId } = this;
    const data: AuditEntry = {
      actor,
      action,
      resourceType: type,
      resourceId: id,
      resourceName: name,
      details: { source: 'import', ...details },
      ipAddress: context?.ipAddress ?? null,
      userAgent: context?.userAgent ?? null,
      result: 'success',
      errorMessage: null,
      initiatedBy: actor.type === 'user' ? actor.id : null,
      requestId: context?.requestId ?? null,
    };
    return { stream: 'audit', type: action, aggregateId: id, partnerId, orgId, actor, data };
  }
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
