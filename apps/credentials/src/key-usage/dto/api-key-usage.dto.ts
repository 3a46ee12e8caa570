import { ApiProperty } from '@nestjs/swagger';

export class UsageDayDto {
  @ApiProperty({ format: 'date', description: 'A day in UTC' })
  date: string;

  @ApiProperty({ type: 'integer', description: 'Requests that the key authenticated, a few seconds behind' })
  count: number;
}

export class ApiKeyUsageDto {
  @ApiProperty({ format: 'date', description: 'The first day' })
  from: string;

  @ApiProperty({ format: 'date', description: 'Today, in UTC' })
  to: string;

  @ApiProperty({ type: 'integer', description: 'Requests in the time range' })
  total: number;

  @ApiProperty({ type: [UsageDayDto], description: 'Every day from `from` to `to`, oldest first' })
  days: UsageDayDto[];
}
