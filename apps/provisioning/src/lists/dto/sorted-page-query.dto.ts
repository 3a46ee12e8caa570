import { IsCursor, IsFlag, IsOneOf, PageQueryDto } from '@rmm/validation';

export const LIST_SORTS = ['name', 'created'] as const;
export type ListSort = (typeof LIST_SORTS)[number];
const DIRECTIONS = ['asc', 'desc'] as const;

/** Page, order and cursor of a list. Extend it with the filters of the list. */
export class SortedPageQueryDto extends PageQueryDto {
  @IsOneOf(LIST_SORTS, { optional: true, description: 'Newest first when absent' })
  sort?: ListSort;

  @IsOneOf(DIRECTIONS, { optional: true, description: 'Of `sort`; `asc` for names and `desc` for times when absent' })
  order?: (typeof DIRECTIONS)[number];

  @IsCursor({
    optional: true,
    description: 'Requests the page after a cursor instead of a numbered one; empty for the first page',
  })
  cursor?: string;

  @IsFlag({ optional: true, description: 'With `cursor`: whether the response states the total' })
  includeTotal = false;
}
