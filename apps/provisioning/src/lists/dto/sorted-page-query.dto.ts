import { ListPageQueryDto, IsFlag, IsOneOf } from '@rmm/validation';

export const LIST_SORTS = ['name', 'created'] as const;
export type ListSort = (typeof LIST_SORTS)[number];
export const DIRECTIONS = ['asc', 'desc'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** Direction and cursor of a list. Extend it with the orders and the filters of the list. */
export class OrderedPageQueryDto extends ListPageQueryDto {
  @IsOneOf(DIRECTIONS, {
    optional: true,
    description: 'Of `sort`; `desc` for `created` and `asc` otherwise when absent',
  })
  order?: Direction;

  @IsFlag({ optional: true, description: 'With `cursor`: whether the response states the total' })
  includeTotal = false;
}

/** Page, order and cursor of a list by name or age. Extend it with the filters of the list. */
export class SortedPageQueryDto extends OrderedPageQueryDto {
  @IsOneOf(LIST_SORTS, { optional: true, description: 'Newest first when absent' })
  sort?: ListSort;
}
