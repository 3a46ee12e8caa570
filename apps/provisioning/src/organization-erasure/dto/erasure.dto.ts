import { ApiProperty } from '@nestjs/swagger';
import { ERASING_SERVICES, type ErasedCounts, type ServiceName } from '@rmm/contracts';

const SERVICES = ['provisioning', ...ERASING_SERVICES];
export const ERASURE_STATUSES = ['scheduled', 'requested', 'running', 'finished'] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

/** The part of one service. */
export class ErasedPartDto {
  @ApiProperty({ enum: SERVICES, description: 'The service' })
  service: ServiceName;

  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'integer' },
    description: 'The number of erased records by kind',
    example: { device: 12, site: 2 },
  })
  erased: ErasedCounts;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When it ended; null while it is under way',
  })
  finishedAt: string | null;
}

export class ErasureDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the organization' })
  orgId: string;

  @ApiProperty({
    enum: ERASURE_STATUSES,
    description: '`scheduled` can still be restored; `finished` once every service has erased its records',
  })
  status: ErasureStatus;

  @ApiProperty({ format: 'date-time', description: 'When the organization was deleted' })
  deletedAt: string;

  @ApiProperty({ format: 'date-time', description: 'When the erasure begins by itself' })
  eraseAfter: string;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the erasure was requested; null: not yet',
  })
  requestedAt: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the erasure began; null: not yet',
  })
  startedAt: string | null;

  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When it ended; null while it is under way',
  })
  finishedAt: string | null;

  @ApiProperty({ type: [ErasedPartDto], description: 'State in each service' })
  services: ErasedPartDto[];
}
