import { ApiProperty } from '@nestjs/swagger';

const integer = { type: 'integer' } as const;

export class JobCountsDto {
  @ApiProperty(integer)
  waiting!: number;
  @ApiProperty(integer)
  delayed!: number;
  @ApiProperty(integer)
  active!: number;
  @ApiProperty(integer)
  failed!: number;
}

export class QueueDto {
  @ApiProperty()
  name!: string;
  @ApiProperty({ type: JobCountsDto, nullable: true, description: 'Jobs by state; null while Redis is unavailable' })
  jobs!: JobCountsDto | null;
}

export class WaitingDeliveriesDto {
  @ApiProperty({ ...integer, description: 'Due and not leased by a replica' })
  due!: number;
  @ApiProperty({ ...integer, description: 'Waiting for the time of the next attempt' })
  scheduled!: number;
  @ApiProperty({ ...integer, description: 'Leased by a replica: queued there, or in flight' })
  // eslint-disable-next-line rmm/plain-identifiers -- a field of the API
  held!: number;
  @ApiProperty({ ...integer, nullable: true, description: 'How long the oldest due delivery has waited' })
  oldestDueSeconds!: number | null;
}

export class ReplicaDto {
  @ApiProperty({ format: 'uuid', description: 'The identity under which it leases deliveries' })
  id!: string;
  @ApiProperty({ format: 'date-time' })
  startedAt!: string;
  @ApiProperty({ format: 'date-time', description: 'When its leases end unless it renews them' })
  leaseUntil!: string;
  @ApiProperty(integer)
  // eslint-disable-next-line rmm/plain-identifiers -- a field of the API
  held!: number;
}

export class QueuesDto {
  @ApiProperty({ type: [QueueDto] })
  queues!: QueueDto[];
  @ApiProperty({ type: WaitingDeliveriesDto })
  deliveries!: WaitingDeliveriesDto;
  @ApiProperty(integer)
  deadLetters!: number;
  @ApiProperty({ type: [ReplicaDto] })
  replicas!: ReplicaDto[];
}
