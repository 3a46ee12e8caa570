import type { Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import type { AuditedResource, AuditTrail, OutgoingMessage } from '@rmm/messaging';
import { organizationEvents } from '../organizations/organization.events.js';
import { siteEvents } from '../sites/site.events.js';
import type { ImportTarget, WrittenRows } from './import.repository.js';

/** The caller, the target and the run of one import. */
export interface ImportScope extends ImportTarget {
  caller: Caller;
  runId: string;
}

/**
 * Yields the messages of an import, thousands of them: an event for each organization and site, for organizations the
 * integration event as well, one audit entry for each new organization (its link and sites in the details) and one for
 * each change of an existing one.
 */
export function* importMessages(
  audit: Pick<AuditTrail, 'toMessage'>,
  { caller, partnerId, connectionId }: ImportScope,
  written: WrittenRows,
): Generator<OutgoingMessage> {
  const { actor } = caller;
  const entries = new AuditEntries(audit, caller, { partnerId, connectionId });
  const created = new Set(written.organizations.map((row) => row.id));
  const linksOf = groupBy(written.links, (link) => link.orgId);
  const sitesOf = groupBy(written.newSites, (site) => site.orgId);
  const addedLinks = written.links.filter((link) => !created.has(link.orgId));
  const addedSites = written.newSites.filter((site) => !created.has(site.orgId));
  for (const row of written.organizations) yield* organizationEvents('organization.created', row, actor);
  for (const row of written.reactivated) yield* organizationEvents('organization.updated', row, actor);
  for (const row of written.newSites) yield* siteEvents('site.created', row, actor);
  for (const row of written.patchedSites) yield* siteEvents('site.updated', row, actor);
  for (const row of written.organizations) {
    yield entries.forOrganization('organization.create', row.id, row.name, {
      slug: row.slug,
      externalLinks: (linksOf.get(row.id) ?? []).map(({ system, externalId }) => ({ system, externalId })),
      sites: (sitesOf.get(row.id) ?? []).map(({ id, name }) => ({ id, name })),
    });
  }
  for (const row of written.reactivated) {
    yield entries.forOrganization('organization.reactivate', row.id, row.name, { slug: row.slug });
  }
  for (const { orgId, system, externalId } of addedLinks) {
    yield entries.forOrganization('organization.external_link.create', orgId, null, { system, externalId });
  }
  for (const row of addedSites) yield entries.forSite('site.create', row);
  for (const row of written.patchedSites) yield entries.forSite('site.update', row);
}

/** Builds audit entries about organizations and sites of one partner. */
class AuditEntries {
  constructor(
    private readonly audit: Pick<AuditTrail, 'toMessage'>,
    private readonly caller: Caller,
    private readonly target: ImportTarget,
  ) {}

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

  private entry(action: AuditAction, resource: AuditedResource, details: Record<string, unknown>): OutgoingMessage {
    const { partnerId, connectionId } = this.target;
    const source = connectionId === null ? { source: 'import' } : { source: 'psa_import', connectionId };
    return this.audit.toMessage(this.caller, action, { ...resource, partnerId }, { ...source, ...details });
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
