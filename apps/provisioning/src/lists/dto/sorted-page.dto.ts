import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';

export class ListOrderDto {
  @ApiProperty({ description: 'The `sort` of the request, `created` when it names none' })
  by: string;

  @ApiProperty({ enum: ['asc', 'desc'], description: 'Direction of the order' })
  dir: 'asc' | 'desc';
}

/** `page` and `total` without `cursor`, `nextCursor` and `sort` with it. */
export class SortedPaginationDto {
  @ApiProperty({ type: 'integer', required: false, description: 'The page, counted from 1' })
  page?: number;

  @ApiProperty({ type: 'integer', description: 'Records per page, as applied' })
  limit: number;

  @ApiProperty({ type: 'integer', required: false, description: 'With `cursor` only when `includeTotal` asks for it' })
  total?: number;

  @ApiProperty({ type: Boolean, required: false, description: 'True when there are more records than `total`, 10,000' })
  totalCapped?: true;

  @ApiProperty({ type: Boolean, required: false, description: 'True when a numbered page was cut at about 1 MB' })
  truncated?: true;

  @ApiProperty({ type: String, required: false, nullable: true, description: 'Null on the last page' })
  nextCursor?: string | null;

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
