import { createHmac } from 'node:crypto';
import type { EntityTarget, ObjectLiteral } from 'typeorm';
import type { Caller } from '@rmm/access';
import {
  Cursors,
  TenantRepository,
  type ListSelection,
  type RepositoryOptions,
  type TenantDatabase,
} from '@rmm/persistence';
import type { ProvisioningConfig } from '../config.js';
import type { SortedPageQueryDto } from './dto/sorted-page-query.dto.js';
import type { SortedPaginationDto } from './dto/sorted-page.dto.js';

/** Page, order and cursor as `SortedPageQueryDto` validates them. */
export type SortedPageRequest = Pick<SortedPageQueryDto, 'page' | 'limit'> &
  Partial<Pick<SortedPageQueryDto, 'sort' | 'order' | 'cursor' | 'includeTotal'>>;

export interface SortedRows<Row> {
  rows: Row[];
  pagination: SortedPaginationDto;
}

/** The property of each order, which an index with the tenant before it and the id after it serves. */
const SORT_PROPERTIES = { name: 'nameKey', created: 'createdAt' } as const;

interface SortedListOptions extends RepositoryOptions {
  /** Names the list in cursors. */
  list: string;
}

/** Base of repositories whose lists are sorted by name or by age and read by numbered pages or by cursor. */
export abstract class SortedListRepository<
  E extends ObjectLiteral & { nameKey: string; createdAt: Date },
> extends TenantRepository<E> {
  private readonly cursors: Cursors;
  private readonly listName: string;

  protected constructor(
    tenants: TenantDatabase,
    { secrets }: Pick<ProvisioningConfig, 'secrets'>,
    entity: EntityTarget<E>,
    notFound: () => Error,
    { list, ...options }: SortedListOptions,
  ) {
    super(tenants, entity, notFound, options);
    const { keys, activeKid } = secrets.keyRing;
    const key = createHmac('sha256', keys[activeKid] ?? '');
    this.cursors = new Cursors(key.update(`${list} cursors`).digest());
    this.listName = list;
  }

  /**
   * Lists one page by its number, or the page after a cursor, whose cost does not depend on its depth.
   * @param filters  as validated, to which a cursor is bound
   * @throws InvalidCursor
   */
  protected async listSorted<Row extends object>(
    caller: Caller,
    { page, limit, cursor, includeTotal, ...order }: SortedPageRequest,
    filters: object,
    selection: ListSelection<E>,
  ): Promise<SortedRows<Row>> {
    const by = order.sort ?? 'created';
    const dir = order.order ?? (by === 'name' ? 'asc' : 'desc');
    const direction: 'ASC' | 'DESC' = dir === 'asc' ? 'ASC' : 'DESC';
    const sort: Record<string, 'ASC' | 'DESC'> = { [SORT_PROPERTIES[by]]: direction, id: direction };
    const sorted: ListSelection<E> = { ...selection, sort };
    if (cursor === undefined) {
      const { rows, ...counted } = await this.listPage<Row>(caller, { ...sorted, page: { page, limit } });
      return { rows, pagination: { page, limit, ...counted } };
    }
    const binding = { caller, list: this.listName, filters: { ...filters } };
    const [{ rows, nextCursor }, counted] = await Promise.all([
      this.keysetPage<Row>(caller, this.cursors, binding, { ...sorted, cursor, limit }),
      includeTotal ? this.countListed(caller, selection) : undefined,
    ]);
    return { rows, pagination: { nextCursor, limit, ...counted, sort: { by, dir } } };
  }
}
