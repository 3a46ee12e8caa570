import { ApiProperty } from '@nestjs/swagger';

const integer = { type: 'integer' } as const;

export class JobCountsDto {
  @ApiProperty({ ...integer, description: 'Jobs to do' })
  waiting!: number;
  @ApiProperty({ ...integer, description: 'Jobs that are due later' })
  delayed!: number;
  @ApiProperty({ ...integer, description: 'Jobs under way' })
  active!: number;
  @ApiProperty({ ...integer, description: 'Jobs that failed' })
  failed!: number;
}

export class QueueDto {
  @ApiProperty({ description: 'Name of the queue' })
  name!: string;
  @ApiProperty({ type: JobCountsDto, nullable: true, description: 'Jobs by state; null while Redis is unavailable' })
  jobs!: JobCountsDto | null;
}

export class WaitingDeliveriesDto {
  @ApiProperty({
    ...integer,
    description: 'Due: in memory of a replica, in flight, or waiting for limits, pauses or breakers; up to 100,000',
  })
  due!: number;
  @ApiProperty({ ...integer, description: 'Waiting for the time of the next attempt; up to 100,000' })
  scheduled!: number;
  @ApiProperty({ ...integer, nullable: true, description: 'How long the oldest due delivery has waited' })
  oldestDueSeconds!: number | null;
}

export class ReplicaDto {
  @ApiProperty({ format: 'uuid', description: 'The identity under which it owns partitions' })
  id!: string;
  @ApiProperty({ format: 'date-time', description: 'When the replica started' })
  startedAt!: string;
  @ApiProperty({ format: 'date-time', description: 'When the replica last reported' })
  heartbeatAt!: string;
  @ApiProperty({ ...integer, description: 'Partitions of organizations it owns, of 1,024' })
  partitions!: number;
}

export class QueuesDto {
  @ApiProperty({ type: [QueueDto], description: 'Job queues' })
  queues!: QueueDto[];
  @ApiProperty({ type: WaitingDeliveriesDto, description: 'Deliveries that wait' })
  deliveries!: WaitingDeliveriesDto;
  @ApiProperty({ ...integer, description: 'Number of dead letters' })
  deadLetters!: number;
  @ApiProperty({ type: [ReplicaDto], description: 'Replicas of the service' })
  replicas!: ReplicaDto[];
}
