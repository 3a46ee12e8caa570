import type { CreatedOrganizationParts, NewImportChange } from '../import-runs/journal/import-change.types.js';
import { linkKey } from './import-plan.policy.js';
import type { ImportTarget, WrittenRows } from './import.repository.js';

/** Maps written rows to the entries of the journal; a created organization is one entry with its sites and links. */
export function organizationChanges(
  { connectionId }: Pick<ImportTarget, 'connectionId'>,
  { organizations, reactivated, links, movedLinks, newSites, patchedSites }: WrittenRows,
): NewImportChange[] {
  const created = new Map<string, CreatedOrganizationParts>(
    organizations.map(({ id }) => [id, { sites: [], links: [] }]),
  );
  const formerOwners = new Map(
    movedLinks.map(({ system, externalId, formerOrgId }) => [linkKey(system, externalId), formerOrgId]),
  );
  const changes: NewImportChange[] = [];
  for (const { id, before, digestBefore, digest } of reactivated) {
    const digests = { digestBefore, digestAfter: digest };
    changes.push({ orgId: id, resource: 'organization', action: 'reactivate', recordId: id, before, ...digests });
  }
  for (const { orgId, system, externalId, moved } of links) {
    const formerOrgId = moved ? (formerOwners.get(linkKey(system, externalId)) ?? null) : null;
    const link = { system, externalId, connectionId, formerOrgId };
    const parts = created.get(orgId);
    if (parts) parts.links.push(link);
    else changes.push({ orgId, resource: 'organization_link', action: 'create', recordId: orgId, after: link });
  }
  for (const { id, orgId, digest } of newSites) {
    const parts = created.get(orgId);
    if (parts) parts.sites.push({ id, digest });
    else changes.push({ orgId, resource: 'site', action: 'create', recordId: id, digestAfter: digest });
  }
  for (const { id, orgId, before, digestBefore, digest } of patchedSites) {
    changes.push({
      orgId,
      resource: 'site',
      action: 'update',
      recordId: id,
      before,
      digestBefore,
      digestAfter: digest,
    });
  }
  for (const { id, digest } of organizations) {
    const after = created.get(id);
    changes.push({ orgId: id, resource: 'organization', action: 'create', recordId: id, after, digestAfter: digest });
  }
  return changes;
}
