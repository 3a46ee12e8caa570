import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { LIST_SORTS, type ListSort } from './sorted-page-query.dto.js';

export class ListOrderDto {
  @ApiProperty({ enum: LIST_SORTS })
  by: ListSort;

  @ApiProperty({ enum: ['asc', 'desc'] })
  dir: 'asc' | 'desc';
}

/** `page` and `total` without `cursor`, `nextCursor` and `sort` with it. */
export class SortedPaginationDto {
  @ApiProperty({ type: 'integer', required: false })
  page?: number;

  @ApiProperty({ type: 'integer' })
  limit: number;

  @ApiProperty({ type: 'integer', required: false, description: 'With `cursor` only when `includeTotal` asks for it' })
  total?: number;

  @ApiProperty({ type: Boolean, required: false, description: 'True when there are more records than `total`, 10,000' })
  totalCapped?: true;

  @ApiProperty({ type: Boolean, required: false, description: 'True when a numbered page was cut at about 1 MB' })
  truncated?: true;

  @ApiProperty({ type: String, required: false, nullable: true, description: 'Null on the last page' })
  nextCursor?: string | null;

  @ApiProperty({ type: ListOrderDto, required: false })
  sort?: ListOrderDto;
}

export interface SortedPage<T> {
  data: T[];
  pagination: SortedPaginationDto;
}

/** Returns the class of a list response for OpenAPI: `@ApiOkResponse({ type: sortedPageOf(SiteDto) })`. */
export function sortedPageOf<T>(item: Type<T>): Type<SortedPage<T>> {
  class SortedPageDto implements SortedPage<T> {
    @ApiProperty({ type: [item] })
    data: T[];
    @ApiProperty({ type: SortedPaginationDto })
    pagination: SortedPaginationDto;
  }
  Object.defineProperty(SortedPageDto, 'name', { value: `SortedPageOf${item.name}` });
  return SortedPageDto;
}
