import { ApiProperty } from '@nestjs/swagger';

const nullableSequence = { type: 'integer', nullable: true, description: 'null when there was no entry' } as const;

/** The first link that is broken. */
export class ChainBreakDto {
  @ApiProperty({ type: 'integer', description: 'Position in the chain' })
  sequence: number;
  @ApiProperty({ description: 'Of the entry; empty when the entries at the end are missing' })
  id: string;
  @ApiProperty({ enum: ['changed', 'missing', 'reordered'], description: 'Kind of the break' })
  kind: 'changed' | 'missing' | 'reordered';
}

/** The last link, as it was sealed. */
export class ChainHeadDto {
  @ApiProperty({ type: 'integer', description: 'Position in the chain' })
  sequence: number;
  @ApiProperty({ description: 'Checksum of the entry' })
  checksum: string;
  @ApiProperty({ format: 'date-time', description: 'When it was recorded' })
  timestamp: string;
}

export class VerifiedChainDto {
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: "null: the platform's chain" })
  partnerId: string | null;
  @ApiProperty({ description: 'Whether every link is intact' })
  verified: boolean;
  @ApiProperty({ type: 'integer', description: 'Number of entries that were checked' })
  checkedRows: number;
  @ApiProperty(nullableSequence)
  fromSequence: number | null;
  @ApiProperty(nullableSequence)
  toSequence: number | null;
  @ApiProperty({
    type: ChainBreakDto,
    nullable: true,
    description: 'The first broken link; null when the chain is intact',
  })
  firstBreak: ChainBreakDto | null;
  @ApiProperty({
    type: ChainHeadDto,
    nullable: true,
    description: 'The newest entry of the chain; null when it is empty',
  })
  head: ChainHeadDto | null;
}

/** @see docs/reference/audit.md */
export class ChainVerificationDto {
  @ApiProperty({ type: VerifiedChainDto, description: 'Result of the verification' })
  data: VerifiedChainDto;
}
