import { IsCursor, IsFlag, IsOneOf, PageQueryDto } from '@rmm/validation';

export const LIST_SORTS = ['name', 'created'] as const;
export type ListSort = (typeof LIST_SORTS)[number];
export const DIRECTIONS = ['asc', 'desc'] as const;
export type Direction = (typeof DIRECTIONS)[number];

/** Direction and cursor of a list. Extend it with the orders and the filters of the list. */
export class OrderedPageQueryDto extends PageQueryDto {
  @IsOneOf(DIRECTIONS, {
    optional: true,
    description: 'Of `sort`; `desc` for `created` and `asc` otherwise when absent',
  })
  order?: Direction;

  @IsCursor({
    optional: true,
    description: 'Requests the page after a cursor instead of a numbered one; empty for the first page',
  })
  cursor?: string;

  @IsFlag({ optional: true, description: 'With `cursor`: whether the response states the total' })
  includeTotal = false;
}

/** Page, order and cursor of a list by name or age. Extend it with the filters of the list. */
export class SortedPageQueryDto extends OrderedPageQueryDto {
  @IsOneOf(LIST_SORTS, { optional: true, description: 'Newest first when absent' })
  sort?: ListSort;
}
