import { type OrganizationState, PROVISIONING_ORGANIZATIONS_LIST_SINCE } from '@rmm/contracts';
import type { RpcClient } from '@rmm/messaging';
import type { SqlExecutor, WorkerDatabase } from '@rmm/persistence';
import type { Clock } from '@rmm/service-kit';
import { OrganizationAccessDenied } from '../access.errors.js';
import type { OrganizationSource } from '../access.tokens.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { Caller } from '../callers/caller.js';
import { canAccessOrganization } from '../callers/organization-access.policy.js';
import { type DirectoryOrganization, isLive, toDirectoryOrganization } from './directory-organization.js';
import { organizationRows } from './organization-directory.repository.js';

export interface OrganizationDirectoryParts {
  /** Absent where organizations are the service's own: the source then answers everything. */
  worker?: WorkerDatabase;
  source: () => OrganizationSource;
  rpc: Pick<RpcClient, 'call'>;
  clock: Clock;
}

/** Facts reach one replica's consumer; the others learn of them from the table, this late at most. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED = 20_000;
const REBUILD_PAGE = 500;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Which partner does an organization belong to, and is it alive? @see ARCHITECTURE.md 2 */
export class OrganizationDirectory {
  private readonly cache: ReadThroughCache<DirectoryOrganization>;
  /** Announced as changed, while the fact may not have arrived: asked of the owner at next use. */
  private readonly suspects = new Set<string>();

  constructor(private readonly parts: OrganizationDirectoryParts) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_CACHED, ttlMs: CACHE_TTL_MS, clock: parts.clock });
  }

  /**
   * Reads through to the owner on a miss, so an organization is known as soon as it exists.
   * @returns also deleted and suspended ones; null when there is none of this id
   * @throws UnavailableError  503 when neither the table nor the owner can be asked
   */
  find(orgId: string): Promise<DirectoryOrganization | null> {
    if (!UUID.test(orgId)) return Promise.resolve(null);
    const id = orgId.toLowerCase();
    return this.cache.get(id, () => this.read(id));
  }

  /**
   * The organization a caller names in a query or body.
   * @throws OrganizationAccessDenied  403: unknown, not alive and out of reach look the same
   */
  async assertOrganizationAccess(caller: Caller, orgId: string): Promise<DirectoryOrganization> {
    const organization = await this.find(orgId);
    if (organization === null || !isLive(organization) || !canAccessOrganization(caller, organization)) {
      throw new OrganizationAccessDenied();
    }
    return organization;
  }

  /** Takes in facts, in the transaction of the consumer; older versions change nothing. */
  async apply(tx: SqlExecutor, facts: readonly OrganizationState[]): Promise<void> {
    await organizationRows.upsert(tx, facts);
    const touched = new Set(facts.map(({ orgId }) => orgId));
    this.cache.invalidate(({ orgId }) => touched.has(orgId));
  }

  /** An `access.changed` names these: what we hold may be older than what the owner knows. */
  suspect(orgIds: readonly string[]): void {
    const ids = new Set(orgIds);
    if (this.parts.worker) ids.forEach((id) => this.suspects.add(id));
    if (this.suspects.size > MAX_CACHED) this.suspects.clear();
    this.cache.invalidate(({ orgId }) => ids.has(orgId));
  }

  /** Reads every organization from the owner again, oldest change first. @returns how many it was told of */
  async rebuild(): Promise<number> {
    const { rpc, worker } = this.parts;
    if (!worker) return 0;
    let [after, total]: [string | null, number] = [null, 0];
    do {
      const request = { after, limit: REBUILD_PAGE };
      const page: { organizations: OrganizationState[]; next: string | null } = await rpc.call(
        PROVISIONING_ORGANIZATIONS_LIST_SINCE,
        request,
      );
      await worker.transaction((tx) => organizationRows.upsert(tx, page.organizations));
      total += page.organizations.length;
      after = page.next;
    } while (after !== null);
    this.cache.flush();
    return total;
  }

  /** Rebuilds a directory that knows nobody: a new service, or a restored database. */
  async rebuildIfEmpty(): Promise<void> {
    const { worker } = this.parts;
    if (worker && (await organizationRows.isEmpty(worker))) await this.rebuild();
  }

  private async read(orgId: string): Promise<DirectoryOrganization | null> {
    const { worker } = this.parts;
    if (!worker || this.suspects.has(orgId)) return this.ask(orgId);
    return (await organizationRows.find(worker, orgId)) ?? this.ask(orgId);
  }

  private async ask(orgId: string): Promise<DirectoryOrganization | null> {
    const { source, worker } = this.parts;
    // Before asking: an announcement that comes while the owner answers must make us ask again.
    const suspected = this.suspects.delete(orgId);
    try {
      const [fact] = await source().get([orgId]);
      if (fact && worker) await worker.transaction((tx) => organizationRows.upsert(tx, [fact]));
      return fact ? toDirectoryOrganization(fact) : null;
    } catch (error) {
      if (suspected) this.suspects.add(orgId);
      throw error;
    }
  }
}
