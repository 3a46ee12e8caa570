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
import type { Direction, ListSort, OrderedPageQueryDto } from './dto/sorted-page-query.dto.js';
import type { SortedPaginationDto } from './dto/sorted-page.dto.js';

/** Page, order and cursor as `OrderedPageQueryDto` validates them. */
export type SortedPageRequest<Sort extends string = ListSort> = Pick<OrderedPageQueryDto, 'page' | 'limit'> &
  Partial<Pick<OrderedPageQueryDto, 'order' | 'cursor' | 'includeTotal'>> & { sort?: Sort | 'created' };

export interface SortedRows<Row> {
  rows: Row[];
  pagination: SortedPaginationDto;
}

interface ListOrder {
  /** Properties, or sortable columns of the shape. An index with the tenant before them serves the first one. */
  by: readonly string[];
  /** The column of the id that makes the order unique, where the index is that of a joined table; `id` when absent. */
  id?: string;
  /** The direction when a request names none. */
  dir: Direction;
}

/** The orders of a list by their name in requests; `created` applies when a request names none. */
export type ListOrders<Sort extends string> = Readonly<Record<Sort | 'created', ListOrder>>;

export const NEWEST_FIRST = { by: ['createdAt'], dir: 'desc' } as const satisfies ListOrder;
const BY_NAME_OR_AGE: ListOrders<ListSort> = { name: { by: ['nameKey'], dir: 'asc' }, created: NEWEST_FIRST };

interface SortedListOptions<Sort extends string> extends RepositoryOptions {
  /** Names the list in cursors. */
  list: string;
  /** By name or by age when absent. */
  orders?: ListOrders<Sort>;
}

/** Base of repositories whose lists have several orders and are read by numbered pages or by cursor. */
export abstract class SortedListRepository<
  E extends ObjectLiteral,
  Sort extends string = ListSort,
> extends TenantRepository<E> {
  private readonly cursors: Cursors;
  private readonly listName: string;
  private readonly orders: ListOrders<Sort>;

  protected constructor(
    tenants: TenantDatabase,
    config: Pick<ProvisioningConfig, 'secrets'>,
    entity: EntityTarget<E>,
    notFound: () => Error,
    { list, orders = BY_NAME_OR_AGE as ListOrders<Sort>, ...options }: SortedListOptions<Sort>,
  ) {
    super(tenants, entity, notFound, options);
    this.cursors = Cursors.derive(config.secrets.keyRing, list);
    this.listName = list;
    this.orders = orders;
  }

  /**
   * Lists one page by its number, or the page after a cursor, whose cost does not depend on its depth.
   * @param filters  as validated, to which a cursor is bound
   * @throws InvalidCursor
   */
  protected async listSorted<Row extends object>(
    caller: Caller,
    { page, limit, cursor, includeTotal, sort = 'created', order }: SortedPageRequest<Sort>,
    filters: object,
    selection: ListSelection<E>,
  ): Promise<SortedRows<Row>> {
    const { by, id = 'id', dir: usual } = this.orders[sort];
    const dir = order ?? usual;
    const direction = dir === 'asc' ? 'ASC' : 'DESC';
    const columns = Object.fromEntries([...by, id].map((column) => [column, direction] as const));
    const sorted: ListSelection<E> = { ...selection, sort: columns };
    if (cursor === undefined) {
      const { rows, ...counted } = await this.listPage<Row>(caller, { ...sorted, page: { page, limit } });
      return { rows, pagination: { page, limit, ...counted } };
    }
    const binding = { caller, list: this.listName, filters: { ...filters } };
    const [{ rows, nextCursor }, counted] = await Promise.all([
      this.keysetPage<Row>(caller, this.cursors, binding, { ...sorted, cursor, limit }),
      includeTotal ? this.countListed(caller, selection) : undefined,
    ]);
    return { rows, pagination: { nextCursor, limit, ...counted, sort: { by: sort, dir } } };
  }
}
