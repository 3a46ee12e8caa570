import type { Caller } from '@rmm/access';
import type { AuditAction } from '@rmm/contracts';
import type { AuditedChange, AuditedResource, AuditTrail, OutgoingMessage } from '@rmm/messaging';
import { organizationDomainEvent, organizationsChanged } from '../organizations/organization.events.js';
import { siteEvents } from '../sites/site.events.js';
import { groupBy } from './group-by.js';
import type { ImportTarget, WrittenRows } from './import.repository.js';

/** The caller, the target and the run of one import. */
export interface ImportScope extends ImportTarget {
  caller: Caller;
  runId: string;
}

/**
 * Yields the messages of an import, thousands of them: an event for each organization and site, an integration event for
 * each 100 organizations, and the audit entries.
 */
export function* importMessages(
  audit: Pick<AuditTrail, 'toMessages'>,
  scope: ImportScope,
  written: WrittenRows,
): Generator<OutgoingMessage> {
  const { actor } = scope.caller;
  yield* organizationsChanged([...written.organizations, ...written.reactivated], actor);
  for (const row of written.organizations) yield organizationDomainEvent('organization.created', row, actor);
  for (const row of written.reactivated) yield organizationDomainEvent('organization.updated', row, actor);
  for (const row of written.newSites) yield* siteEvents('site.created', row, actor);
  for (const row of written.patchedSites) yield* siteEvents('site.updated', row, actor);
  yield* audit.toMessages(auditedChanges(scope, written));
}

/** Yields an audit entry for each new organization, its link and sites in the details, and for each change of an existing one. */
function* auditedChanges(
  { caller, partnerId, connectionId }: ImportScope,
  written: WrittenRows,
): Generator<AuditedChange> {
  const source = connectionId === null ? { source: 'import' } : { source: 'psa_import', connectionId };
  const entry = (
    action: AuditAction,
    resource: AuditedResource,
    details: Record<string, unknown> = {},
  ): AuditedChange => [caller, action, { ...resource, partnerId }, { ...source, ...details }];
  const created = new Set(written.organizations.map((row) => row.id));
  const linksOf = groupBy(written.links, (link) => link.orgId);
  const sitesOf = groupBy(written.newSites, (site) => site.orgId);
  for (const { id, name, slug } of written.organizations) {
    yield entry('organization.create', organization(id, name), {
      slug,
      externalLinks: (linksOf.get(id) ?? []).map(({ system, externalId }) => ({ system, externalId })),
      sites: (sitesOf.get(id) ?? []).map((site) => ({ id: site.id, name: site.name })),
    });
  }
  for (const { id, name, slug } of written.reactivated) {
    yield entry('organization.reactivate', organization(id, name), { slug });
  }
  for (const { orgId, system, externalId } of written.links) {
    if (created.has(orgId)) continue;
    yield entry('organization.external_link.create', organization(orgId, null), { system, externalId });
  }
  for (const { id, name, orgId } of written.newSites) {
    if (!created.has(orgId)) yield entry('site.create', { type: 'site', id, name, orgId });
  }
  for (const { id, name, orgId } of written.patchedSites) yield entry('site.update', { type: 'site', id, name, orgId });
}

function organization(id: string, name: string | null): AuditedResource {
  return { type: 'organization', id, name, orgId: id };
}
