import { type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsInteger } from './value-fields.decorator.js';

/** `page` and `limit` of a list, 50 a page and at most 100. Extend it with the filters of the list. */
export class PageQueryDto {
  @IsInteger({ min: 1, optional: true, description: 'The page, counted from 1' })
  page = 1;

  @IsInteger({ min: 1, max: 100, optional: true, description: 'Records a page' })
  limit = 50;
}

export class PaginationDto {
  @ApiProperty({ type: 'integer', description: 'The page, counted from 1' })
  page: number;
  @ApiProperty({ type: 'integer', description: 'Records per page, as applied' })
  limit: number;
  @ApiProperty({ type: 'integer', description: 'Number of records that match the filter and the caller can access' })
  total: number;
  @ApiProperty({ type: Boolean, required: false, description: 'True when there are more records than `total`, 10,000' })
  totalCapped?: true;
  @ApiProperty({ type: Boolean, required: false, description: 'True when the page was cut at about 1 MB' })
  truncated?: true;
}

/** A list response: `{ data, pagination: { page, limit, total, totalCapped?, truncated? } }`. */
export interface Paged<T> {
  data: T[];
  pagination: PaginationDto;
}

/** Returns the class of a list response for OpenAPI: `@ApiOkResponse({ type: pagedOf(ApiKeyDto) })`. */
export function pagedOf<T>(item: Type<T>): Type<Paged<T>> {
  class PagedDto implements Paged<T> {
    @ApiProperty({ type: [item], description: 'The records of the page' })
    data: T[];
    @ApiProperty({ type: PaginationDto, description: 'Position of the page' })
    pagination: PaginationDto;
  }
  Object.defineProperty(PagedDto, 'name', { value: `Paged${item.name}` });
  return PagedDto;
}

/** Returns the response of a list. @param counted  the total, and whether it or the page was cut */
export function toPage<T>(
  { page, limit }: Pick<PageQueryDto, 'page' | 'limit'>,
  { total, totalCapped, truncated }: Pick<PaginationDto, 'total' | 'totalCapped' | 'truncated'>,
  data: T[],
): Paged<T> {
  const cuts = { ...(totalCapped && { totalCapped }), ...(truncated && { truncated }) };
  return { data, pagination: { page, limit, total, ...cuts } };
}
