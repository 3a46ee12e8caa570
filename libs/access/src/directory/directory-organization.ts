import type { OrganizationStatus } from '@rmm/contracts';
import { isUuid } from '@rmm/validation';
import { readText, isVersion, type ReadState } from './read-state.js';

/** The fields of an organization that other services than provisioning store. */
export interface DirectoryOrganization {
  orgId: string;
  partnerId: string;
  name: string;
  slug: string;
  status: OrganizationStatus;
  deleted: boolean;
  version: number;
}

const STATUSES: ReadonlySet<unknown> = new Set<OrganizationStatus>([
  'active',
  'trial',
  'suspended',
  'churned',
  'offboarding',
]);

/** Returns true for organizations whose users and keys may be served: `active` or `trial`, and not deleted. */
export function isLive({ status, deleted }: Pick<DirectoryOrganization, 'status' | 'deleted'>): boolean {
  return !deleted && (status === 'active' || status === 'trial');
}

/**
 * Reads the state of an organization from a message of provisioning. A name that cannot be stored is left empty.
 * @returns null when the organization, its partner, its status or its version cannot be read
 */
export function readOrganization(data: unknown): ReadState<DirectoryOrganization> | null {
  const { orgId, partnerId, name, slug, status, deleted, version } = Object(data) as Record<string, unknown>;
  if (!isUuid(orgId) || !isUuid(partnerId) || !isVersion(version)) return null;
  if (!STATUSES.has(status) || typeof deleted !== 'boolean') return null;
  const malformed: string[] = [];
  const entry = {
    orgId: orgId.toLowerCase(),
    partnerId: partnerId.toLowerCase(),
    name: readText(name, 'name', malformed),
    slug: readText(slug, 'slug', malformed),
    status: status as OrganizationStatus,
    deleted,
    version,
  };
  return { entry, malformed };
}
