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
  @ApiProperty({ type: JobCountsDto, nullable: true, description: 'Jobs by state; null while Redis is away' })
  jobs!: JobCountsDto | null;
}

export class WaitingDeliveriesDto {
  @ApiProperty({ ...integer, description: 'Due and held by no process' })
  due!: number;
  @ApiProperty({ ...integer, description: 'Waiting for the time of their next attempt' })
  scheduled!: number;
  @ApiProperty({ ...integer, description: 'Held by a process: queued there, or in flight' })
  held!: number;
  @ApiProperty({ ...integer, nullable: true, description: 'How long the oldest of the due ones has waited' })
  oldestDueSeconds!: number | null;
}

export class ReplicaDto {
  @ApiProperty({ format: 'uuid', description: 'Under which identity it holds deliveries' })
  id!: string;
  @ApiProperty({ format: 'date-time' })
  startedAt!: string;
  @ApiProperty({ format: 'date-time', description: 'When what it holds is free again, unless it renews' })
  leaseUntil!: string;
  @ApiProperty(integer)
  held!: number;
}

/** What the queues, the table and the processes hold. */
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
