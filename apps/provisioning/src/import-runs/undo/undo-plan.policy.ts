import { groupBy } from '../../import/group-by.js';
import type { CreatedOrganizationParts, ImportedLink } from '../journal/import-change.types.js';
import type {
  ChangeOutcome,
  CurrentOrganization,
  CurrentRecords,
  KeptReason,
  LinkKey,
  OpenChange,
  UndoPlan,
} from './undo-plan.types.js';

/**
 * Decides what can be undone. A pure function. A created record is removed when it is unchanged and unused, an
 * updated one gets its former values when it still has the contents that the import wrote; what remains is reported with the
 * reason. A created organization is removed with its sites and links or kept with them.
 * @param changes  all open changes of their organizations, in the order in which they were made
 * @see docs/reference/provisioning.md#import-runs
 */
export function planUndo(changes: readonly OpenChange[], current: CurrentRecords): UndoPlan {
  const planner = new UndoPlanner(current);
  for (const ofOrganization of groupBy(changes, ({ orgId }) => orgId).values())
    planner.undoOrganization(ofOrganization);
  return planner.plan;
}

class UndoPlanner {
  readonly plan: UndoPlan = {
    removedOrganizations: [],
    deletedOrganizations: [],
    removedLinks: [],
    movedLinks: [],
    removedSites: [],
    restoredSites: [],
    removedContacts: [],
    restoredContacts: [],
    removedContactLinks: [],
    outcomes: [],
  };
  private readonly organizations: Map<string, CurrentOrganization>;
  private readonly sites: Map<string, CurrentRecords['sites'][number]>;
  private readonly contacts: Map<string, CurrentRecords['contacts'][number]>;

  constructor(current: CurrentRecords) {
    this.organizations = new Map(current.organizations.map((each) => [each.id, each]));
    this.sites = new Map(current.sites.map((each) => [each.id, each]));
    this.contacts = new Map(current.contacts.map((each) => [each.id, each]));
  }

  undoOrganization(changes: readonly OpenChange[]): void {
    const creation = changes.find(({ resource, action }) => resource === 'organization' && action === 'create');
    if (creation) return this.undoCreated(creation, changes);
    const organization = this.organizations.get(changes[0]?.orgId ?? '');
    if (!organization) return this.keep(changes, 'no_access');
    if (organization.isDeleted) return this.keep(changes, 'deleted');
    const records = groupBy(changes, (change) => `${change.resource} ${change.recordId} ${linkText(change)}`);
    for (const ofRecord of records.values()) this.undoRecord(organization, ofRecord);
  }

  private undoCreated(creation: OpenChange, changes: readonly OpenChange[]): void {
    const parts = creation.after as CreatedOrganizationParts;
    const organization = this.organizations.get(creation.recordId);
    const reason = this.findReasonToKeep(organization, creation, changes);
    if (reason) return this.keep(changes, reason);
    this.plan.removedOrganizations.push(creation.recordId);
    for (const link of createdLinks(parts, changes)) {
      const { formerOrgId, ...key } = link;
      if (formerOrgId === null) this.plan.removedLinks.push({ orgId: creation.recordId, ...key });
      else this.plan.movedLinks.push({ orgId: creation.recordId, formerOrgId, ...key });
    }
    this.settle(changes, 'removed');
  }

  private findReasonToKeep(
    organization: CurrentOrganization | undefined,
    creation: OpenChange,
    changes: readonly OpenChange[],
  ): KeptReason | null {
    if (!organization) return 'no_access';
    if (organization.isDeleted) return 'deleted';
    if (organization.digest !== creation.digestAfter) return 'changed';
    if (organization.isUsed) return 'in_use';
    const parts = creation.after as CreatedOrganizationParts;
    const expected = createdSites(parts, changes);
    if (organization.sites.some(({ id }) => !expected.has(id))) return 'in_use';
    if (organization.sites.length < expected.size) return 'changed';
    if (organization.sites.some(({ id, digest }) => expected.get(id) !== digest)) return 'changed';
    const links = new Set(createdLinks(parts, changes).map(keyOfLink));
    if (organization.links.some((link) => !links.has(keyOfLink(link)))) return 'in_use';
    return organization.links.length < links.size ? 'changed' : null;
  }

  private undoRecord(organization: CurrentOrganization, changes: readonly OpenChange[]): void {
    switch (changes[0]?.resource) {
      case 'organization':
        return this.undoReactivation(organization, changes);
      case 'organization_link':
        return this.undoLink(organization, changes);
      case 'site':
        return this.undoSite(changes);
      case 'contact':
        return this.undoContact(changes);
      case 'contact_link':
        return this.undoContactLink(changes);
    }
  }

  /** Deletes an organization again that the import had made live. */
  private undoReactivation(organization: CurrentOrganization, changes: readonly OpenChange[]): void {
    const [change] = changes;
    if (!change || organization.digest !== change.digestAfter) return this.keep(changes, 'changed');
    if (organization.usedSince.includes(change.seq)) return this.keep(changes, 'in_use');
    const { slug, status, deletedAt } = change.before as { slug: string; status: string; deletedAt: string };
    this.plan.deletedOrganizations.push({ id: organization.id, slug, status, deletedAt });
    this.settle(changes, 'restored');
  }

  private undoLink(organization: CurrentOrganization, changes: readonly OpenChange[]): void {
    const link = changes[0]?.after as unknown as LinkKey;
    const isPresent = organization.links.some((each) => keyOfLink(each) === keyOfLink(link));
    if (!isPresent) return this.keep(changes, 'deleted');
    const { system, externalId, connectionId } = link;
    this.plan.removedLinks.push({ orgId: organization.id, system, externalId, connectionId });
    this.settle(changes, 'removed');
  }

  private undoSite(changes: readonly OpenChange[]): void {
    const id = changes[0]?.recordId ?? '';
    const site = this.sites.get(id);
    if (!site || site.isDeleted) return this.keep(changes, 'deleted');
    const { restored, undone, kept } = followDigests(changes, site.digest);
    if (undone[0]?.action === 'create') {
      if (site.isUsed) return this.keep(changes, 'in_use');
      this.plan.removedSites.push(id);
      return this.settle(changes, 'removed');
    }
    this.keep(kept, 'changed');
    if (restored === null) return;
    const { timezone, address, contact } = restored as { timezone: string; address: unknown; contact: unknown };
    this.plan.restoredSites.push({ id, timezone, address, contact });
    this.settle(undone, 'restored');
  }

  private undoContact(changes: readonly OpenChange[]): void {
    const id = changes[0]?.recordId ?? '';
    const contact = this.contacts.get(id);
    if (!contact) return this.keep(changes, 'deleted');
    const { restored, undone, kept } = followDigests(changes, contact.digest);
    if (undone[0]?.action === 'create') {
      this.plan.removedContacts.push(id);
      return this.settle(changes, 'removed');
    }
    this.keep(kept, 'changed');
    if (restored === null) return;
    const { siteId } = restored as { siteId: string | null };
    if (siteId !== null && this.sites.get(siteId)?.isDeleted !== false) return this.keep(undone, 'changed');
    this.plan.restoredContacts.push({ id, ...restored });
    this.settle(undone, 'restored');
  }

  /** The contact keeps its other links; a link that is gone already stays gone. */
  private undoContactLink(changes: readonly OpenChange[]): void {
    const [change] = changes;
    if (!change || !this.contacts.has(change.recordId)) return this.keep(changes, 'deleted');
    const { system, externalId } = change.after as unknown as LinkKey;
    this.plan.removedContactLinks.push({ orgId: change.orgId, contactId: change.recordId, system, externalId });
    this.settle(changes, 'removed');
  }

  private keep(changes: readonly OpenChange[], reason: KeptReason): void {
    this.settle(changes, 'kept', reason);
  }

  private settle(
    changes: readonly OpenChange[],
    outcome: ChangeOutcome['outcome'],
    reason: KeptReason | null = null,
  ): void {
    for (const { seq } of changes) this.plan.outcomes.push({ seq, outcome, reason });
  }
}

/**
 * Follows the changes of one record back from its stored contents until a change that the run did not make.
 * @returns the former values to restore, the changes that are undone, the first one first, and those that are kept
 */
function followDigests(changes: readonly OpenChange[], digest: string) {
  const undone: OpenChange[] = [];
  let expected: string | null = digest;
  for (const change of [...changes].reverse()) {
    if (change.digestAfter !== expected) break;
    undone.unshift(change);
    expected = change.digestBefore;
  }
  const kept = changes.slice(0, changes.length - undone.length);
  return { restored: undone[0]?.before ?? null, undone, kept };
}

/** Returns the sites that the run created, with the contents that it wrote last. */
function createdSites({ sites }: CreatedOrganizationParts, changes: readonly OpenChange[]): Map<string, string> {
  const digests = new Map(sites.map(({ id, digest }) => [id, digest]));
  for (const { resource, recordId, digestAfter } of changes) {
    if (resource === 'site') digests.set(recordId, digestAfter ?? '');
  }
  return digests;
}

function createdLinks({ links }: CreatedOrganizationParts, changes: readonly OpenChange[]): ImportedLink[] {
  const added = changes.filter(({ resource }) => resource === 'organization_link');
  return [...links, ...added.map(({ after }) => ({ ...(after as unknown as ImportedLink), formerOrgId: null }))];
}

const keyOfLink = ({ system, externalId, connectionId }: LinkKey): string =>
  JSON.stringify([system, externalId, connectionId]);

const linkText = ({ resource, after }: OpenChange): string => (resource.endsWith('_link') ? JSON.stringify(after) : '');
