import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  Optional,
} from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { type OrganizationState, PROVISIONING_ORGANIZATIONS_LIST_SINCE } from '@rmm/contracts';
import { RpcClient } from '@rmm/messaging';
import { type SqlExecutor, WorkerDatabase } from '@rmm/persistence';
import { Clock, Logger } from '@rmm/service-kit';
import { AccessSources } from '../access-sources.service.js';
import { ACCESS_CONFIG, type AccessConfig } from '../access.config.js';
import { OrganizationAccessDenied } from '../access.errors.js';
import { ReadThroughCache } from '../cache/read-through-cache.js';
import type { Caller } from '../callers/caller.js';
import { canAccessOrganization } from '../callers/organization-access.policy.js';
import { type DirectoryOrganization, isLive, toDirectoryOrganization } from './directory-organization.js';
import { OrganizationDirectoryRepository } from './organization-directory.repository.js';

/** One replica receives an event; the others read the change from the table after this time at the latest. */
const CACHE_TTL_MS = 5_000;
const MAX_CACHED = 20_000;
const REBUILD_PAGE = 500;
const REBUILD_RETRY_MS = 5_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Looks up the partner and the status of organizations that another service owns. */
@Injectable()
export class OrganizationDirectory implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly cache: ReadThroughCache<DirectoryOrganization>;
  /** Organizations whose change was broadcast before its event arrived; read from the owner on next use. */
  private readonly outdated = new Set<string>();
  /** Undefined where the service has no directory table; every look-up then goes to the source. */
  private readonly worker?: WorkerDatabase;
  private readonly stopping = new AbortController();

  constructor(
    private readonly repository: OrganizationDirectoryRepository,
    private readonly sources: AccessSources,
    private readonly rpc: RpcClient,
    private readonly logger: Logger,
    clock: Clock,
    @Inject(ACCESS_CONFIG) { organizations }: AccessConfig,
    @Optional() worker?: WorkerDatabase,
  ) {
    this.cache = new ReadThroughCache({ maxEntries: MAX_CACHED, ttlMs: CACHE_TTL_MS, clock });
    this.worker = organizations === 'table' ? worker : undefined;
  }

  onApplicationBootstrap(): void {
    void this.fillWhenEmpty();
  }

  beforeApplicationShutdown(): void {
    this.stopping.abort();
  }

  /**
   * Reads through to the owner on a miss, so that an organization is known as soon as it exists.
   * @returns also deleted and suspended ones; null when the id is unknown
   * @throws UnavailableError  503 when neither the table nor the owner can be read
   */
  find(orgId: string): Promise<DirectoryOrganization | null> {
    if (!UUID.test(orgId)) return Promise.resolve(null);
    const id = orgId.toLowerCase();
    return this.cache.get(id, () => this.read(id));
  }

  /**
   * Returns the organization that a request names, if the caller may access it.
   * @throws OrganizationAccessDenied  403, the same for unknown, inactive and inaccessible organizations
   */
  async assertOrganizationAccess(caller: Caller, orgId: string): Promise<DirectoryOrganization> {
    const organization = await this.find(orgId);
    if (organization === null || !isLive(organization) || !canAccessOrganization(caller, organization)) {
      throw new OrganizationAccessDenied();
    }
    return organization;
  }

  /** Stores organizations in the transaction of the consumer; older versions change nothing. */
  async apply(tx: SqlExecutor, organizations: readonly OrganizationState[]): Promise<void> {
    await this.repository.upsert(tx, organizations);
    const changed = new Set(organizations.map(({ orgId }) => orgId));
    this.cache.invalidate(({ orgId }) => changed.has(orgId));
  }

  /** Marks organizations whose change was broadcast: the table may be older than the owner's state. */
  markOutdated(orgIds: readonly string[]): void {
    const ids = new Set(orgIds);
    if (this.worker) ids.forEach((id) => this.outdated.add(id));
    if (this.outdated.size > MAX_CACHED) this.outdated.clear();
    this.cache.invalidate(({ orgId }) => ids.has(orgId));
  }

  /** Reads every organization from the owner again, oldest change first. @returns the number of organizations read */
  async rebuild(): Promise<number> {
    const { worker } = this;
    if (!worker) return 0;
    let [after, total]: [string | null, number] = [null, 0];
    do {
      const request = { after, limit: REBUILD_PAGE };
      const page: { organizations: OrganizationState[]; next: string | null } = await this.rpc.call(
        PROVISIONING_ORGANIZATIONS_LIST_SINCE,
        request,
      );
      await worker.transaction((tx) => this.repository.upsert(tx, page.organizations));
      total += page.organizations.length;
      after = page.next;
    } while (after !== null);
    this.cache.flush();
    return total;
  }

  /** Rebuilds an empty table (a new service, a restored database); retries until it succeeds or the service stops. */
  private async fillWhenEmpty(): Promise<void> {
    const { signal } = this.stopping;
    while (this.worker && !signal.aborted) {
      try {
        if (await this.repository.isEmpty(this.worker)) await this.rebuild();
        return;
      } catch (err) {
        this.logger.debug({ err }, 'Organization directory not filled; look-ups go to the owner until the retry');
        await sleep(REBUILD_RETRY_MS, undefined, { ref: false, signal }).catch(() => undefined);
      }
    }
  }

  private async read(orgId: string): Promise<DirectoryOrganization | null> {
    if (!this.worker || this.outdated.has(orgId)) return this.readFromOwner(orgId);
    return (await this.repository.find(this.worker, orgId)) ?? this.readFromOwner(orgId);
  }

  private async readFromOwner(orgId: string): Promise<DirectoryOrganization | null> {
    const { worker } = this;
    // Removed before the read: a broadcast that arrives while the owner responds must cause another read.
    const wasOutdated = this.outdated.delete(orgId);
    try {
      const [state] = await this.sources.organizations.get([orgId]);
      if (state && worker) await worker.transaction((tx) => this.repository.upsert(tx, [state]));
      return state ? toDirectoryOrganization(state) : null;
    } catch (error) {
      if (wasOutdated) this.outdated.add(orgId);
      throw error;
    }
  }
}
