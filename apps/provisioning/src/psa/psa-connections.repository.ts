import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type QueryShape, type TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { PROVISIONING_CONFIG, type ProvisioningConfig } from '../config.js';
import { SortedListRepository, type SortedPageRequest, type SortedRows } from '../lists/sorted-list.repository.js';
import { nameKey } from '../organizations/name-key.js';
import { ACTIVE_ORGANIZATION } from '../organizations/organizations.repository.js';
import { PsaConnection, type PsaConnectionStatus } from './psa-connection.entity.js';
import type { PsaProvider } from './psa-providers.constants.js';

export interface PsaConnectionFilter {
  provider?: PsaProvider;
  status?: PsaConnectionStatus;
  orgId?: string;
}

export type NewPsaConnection = Pick<
  PsaConnection,
  'id' | 'partnerId' | 'orgId' | 'provider' | 'name' | 'settings' | 'credentials' | 'secretsSealed' | 'secretNames'
> & { createdBy: string | null };

export type PsaConnectionChanges = Partial<
  Pick<PsaConnection, 'name' | 'status' | 'settings' | 'credentials' | 'secretsSealed' | 'secretNames'>
>;

/** The connections of an inactive organization cannot be accessed. */
const OF_ACTIVE_OWNER: QueryShape<PsaConnection> = {
  key: 'active',
  build: (query) =>
    query
      .leftJoin(
        'organization',
        'o',
        `o.id = psaConnection.orgId AND o.partner_id = psaConnection.partnerId AND ${ACTIVE_ORGANIZATION}`,
      )
      .andWhere('(psaConnection.orgId IS NULL OR o.id IS NOT NULL)'),
};

@Injectable()
export class PsaConnectionsRepository extends SortedListRepository<PsaConnection> {
  constructor(tenants: TenantDatabase, @Inject(PROVISIONING_CONFIG) config: Pick<ProvisioningConfig, 'secrets'>) {
    const options = { ownership: 'dual' as const, list: 'psa-connections' };
    super(tenants, config, PsaConnection, () => new NotFoundError('PSA connection'), options);
  }

  /** Lists one page; newest first unless sorted otherwise. @throws InvalidCursor */
  list(caller: Caller, filter: PsaConnectionFilter, page: SortedPageRequest): Promise<SortedRows<PsaConnection>> {
    return this.listSorted<PsaConnection>(caller, page, filter, {
      where: { ...filter },
      shape: OF_ACTIVE_OWNER,
      budget: { columns: ['settings', 'credentials'] },
    });
  }

  /** @throws NotFoundError */
  get(source: Caller | TenantTransaction, id: string): Promise<PsaConnection> {
    return this.getOne(source, { where: { id }, shape: OF_ACTIVE_OWNER });
  }

  /** Returns the name of a connection, also of an inactive organization; null when it is deleted. */
  async findName(tx: TenantTransaction, id: string): Promise<string | null> {
    return (await this.findOne(tx, { where: { id }, columns: ['name'] }))?.name ?? null;
  }

  /** Locks a connection until the transaction ends. @throws NotFoundError */
  async lock(tx: TenantTransaction, id: string): Promise<PsaConnection> {
    await this.getOne(tx, { where: { id }, lock: 'FOR UPDATE', columns: ['id'] });
    return this.get(tx, id);
  }

  /** Counts the connections of an owner: an organization, or with null the partner itself. */
  countOf(tx: TenantTransaction, partnerId: string, orgId: string | null): Promise<number> {
    return this.count(tx, { where: { partnerId, orgId } });
  }

  create(tx: TenantTransaction, connection: NewPsaConnection): Promise<PsaConnection> {
    return this.insert(tx, { ...connection, nameKey: nameKey(connection.name) });
  }

  change(tx: TenantTransaction, id: string, changes: PsaConnectionChanges): Promise<PsaConnection> {
    const key = changes.name === undefined ? undefined : nameKey(changes.name);
    return this.updateOne(tx, { id }, { ...changes, nameKey: key, updatedAt: () => 'now()' });
  }

  /** Stores the time and the outcome of a test; a paused connection stays paused. */
  async recordTest(tx: TenantTransaction, id: string, status: PsaConnectionStatus | undefined): Promise<void> {
    await this.updateOne(tx, { id }, { lastTestedAt: () => 'now()', ...(status && { status }) });
  }

  async recordImport(tx: TenantTransaction, id: string): Promise<void> {
    await this.updateOne(tx, { id }, { lastSyncedAt: () => 'now()' });
  }

  /** Deletes a connection and the links to its companies. @returns how many links there were */
  async remove(tx: TenantTransaction, { id, partnerId }: PsaConnection): Promise<number> {
    const [counted] = await tx.query<{ links: number }>(
      'SELECT count(*)::int AS links FROM external_link WHERE partner_id = :partnerId AND connection_id = :id',
      { id, partnerId },
    );
    await this.delete(tx, { id });
    return counted?.links ?? 0;
  }

  /** Returns which companies of a connection are linked to an organization. */
  async listLinkedIds(
    caller: Caller,
    { id, partnerId, provider }: PsaConnection,
    externalIds: readonly string[],
  ): Promise<Set<string>> {
    const rows = await this.tenants.read<{ externalId: string }>(
      caller,
      `SELECT external_id AS "externalId" FROM external_link
        WHERE partner_id = :partnerId AND system = :provider AND connection_id = :id
          AND external_id = ANY (:externalIds::text[])`,
      { id, partnerId, provider, externalIds },
    );
    return new Set(rows.map(({ externalId }) => externalId));
  }
}
