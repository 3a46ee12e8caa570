import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { PageQueryDto } from './page.dto.js';
import { IsCursor } from './text-fields.decorator.js';

/** A numbered page of a list, or the page after a cursor, whose cost does not depend on its depth. */
export class ListPageQueryDto extends PageQueryDto {
  @IsCursor({
    optional: true,
    description: 'Requests the page after a cursor instead of a numbered one; empty for the first page',
  })
  cursor?: string;
}

/** `page` and `total` without `cursor`, `nextCursor` with it. */
export class ListPaginationDto {
  @ApiProperty({ type: 'integer', required: false, description: 'The page, counted from 1' })
  page?: number;

  @ApiProperty({ type: 'integer', description: 'Records per page, as applied' })
  limit: number;

  @ApiProperty({
    type: 'integer',
    required: false,
    description: 'Records that match; with `cursor` only where `includeTotal` asks for it',
  })
  total?: number;

  @ApiProperty({ type: Boolean, required: false, description: 'True when there are more records than `total`, 10,000' })
  totalCapped?: true;

  @ApiProperty({ type: Boolean, required: false, description: 'True when a numbered page was cut at about 1 MB' })
  truncated?: true;

  @ApiProperty({ type: String, required: false, nullable: true, description: 'Null on the last page' })
  nextCursor?: string | null;
}

/** A list response: `{ data, pagination: { page, limit, total, ... } }`, with `cursor` `{ nextCursor, limit }`. */
export interface ListPage<T> {
  data: T[];
  pagination: ListPaginationDto;
}

/** Returns the class of a list response for OpenAPI: `@ApiOkResponse({ type: listPageOf(DeliveryDto) })`. */
export function listPageOf<T>(item: Type<T>): Type<ListPage<T>> {
  class ListPageDto implements ListPage<T> {
    @ApiProperty({ type: [item], description: 'The records of the page' })
    data: T[];
    @ApiProperty({ type: ListPaginationDto, description: 'Position of the page' })
    pagination: ListPaginationDto;
  }
  Object.defineProperty(ListPageDto, 'name', { value: `ListPageOf${item.name}` });
  return ListPageDto;
}
