import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ListPaginationDto } from '@rmm/validation';

export class ListOrderDto {
  @ApiProperty({ description: 'The `sort` of the request, `created` when it names none' })
  by: string;

  @ApiProperty({ enum: ['asc', 'desc'], description: 'Direction of the order' })
  dir: 'asc' | 'desc';
}

/** `page` and `total` without `cursor`; with it `nextCursor`, `sort`, and `total` when `includeTotal` asks for it. */
export class SortedPaginationDto extends ListPaginationDto {
  @ApiProperty({ type: ListOrderDto, required: false, description: 'Order of the list' })
  sort?: ListOrderDto;
}

export interface SortedPage<T> {
  data: T[];
  pagination: SortedPaginationDto;
}

/** Returns the class of a list response for OpenAPI: `@ApiOkResponse({ type: sortedPageOf(SiteDto) })`. */
export function sortedPageOf<T>(item: Type<T>): Type<SortedPage<T>> {
  class SortedPageDto implements SortedPage<T> {
    @ApiProperty({ type: [item], description: 'The records of the page' })
    data: T[];
    @ApiProperty({ type: SortedPaginationDto, description: 'Position and order of the page' })
    pagination: SortedPaginationDto;
  }
  Object.defineProperty(SortedPageDto, 'name', { value: `SortedPageOf${item.name}` });
  return SortedPageDto;
}
