import { ApiProperty } from '@nestjs/swagger';
import { DeviceDto } from './device.dto.js';
import { DEVICE_SORTS } from './list-devices.dto.js';

/** The order of a list; `created` when the request names none. */
export class DeviceOrderDto {
  @ApiProperty({ enum: [...DEVICE_SORTS, 'created'] })
  by: string;

  @ApiProperty({ enum: ['asc', 'desc'] })
  dir: 'asc' | 'desc';
}

/** `page` and `total` without `cursor`, `nextCursor` and `sort` with it. */
export class DeviceListPaginationDto {
  @ApiProperty({ type: 'integer', required: false })
  page?: number;

  @ApiProperty({ type: 'integer' })
  limit: number;

  @ApiProperty({ type: 'integer', required: false, description: 'With `cursor` only when `includeTotal` asks for it' })
  total?: number;

  @ApiProperty({ type: Boolean, required: false, description: 'True when a numbered page was cut at about 1 MB' })
  truncated?: true;

  @ApiProperty({ type: String, required: false, nullable: true, description: 'Null on the last page' })
  nextCursor?: string | null;

  @ApiProperty({ type: DeviceOrderDto, required: false })
  sort?: DeviceOrderDto;
}

export class DeviceListDto {
  @ApiProperty({ type: [DeviceDto] })
  data: DeviceDto[];

  @ApiProperty({ type: DeviceListPaginationDto })
  pagination: DeviceListPaginationDto;
}
