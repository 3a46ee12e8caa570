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
  @ApiProperty({ ...integer, description: 'Due, in memory of a replica or waiting for room; up to 100,000' })
  due!: number;
  @ApiProperty({ ...integer, description: 'Waiting for the time of the next attempt' })
  scheduled!: number;
  @ApiProperty({ ...integer, nullable: true, description: 'How long the oldest due delivery has waited' })
  oldestDueSeconds!: number | null;
}

export class ReplicaDto {
  @ApiProperty({ format: 'uuid', description: 'The identity under which it owns partitions' })
  id!: string;
  @ApiProperty({ format: 'date-time' })
  startedAt!: string;
  @ApiProperty({ format: 'date-time' })
  heartbeatAt!: string;
  @ApiProperty({ ...integer, description: 'Partitions of organizations it owns, of 1,024' })
  partitions!: number;
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
