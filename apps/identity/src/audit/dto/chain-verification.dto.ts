import { ApiProperty } from '@nestjs/swagger';

const nullableSequence = { type: 'integer', nullable: true, description: 'null when there was no entry' } as const;

/** The first link that is broken. */
export class ChainBreakDto {
  @ApiProperty({ type: 'integer' })
  sequence: number;
  @ApiProperty({ description: 'Of the entry; empty when the entries at the end are missing' })
  id: string;
  @ApiProperty({ enum: ['changed', 'missing', 'reordered'] })
  kind: 'changed' | 'missing' | 'reordered';
}

/** The last link, as it was sealed. */
export class ChainHeadDto {
  @ApiProperty({ type: 'integer' })
  sequence: number;
  @ApiProperty()
  checksum: string;
  @ApiProperty({ format: 'date-time' })
  timestamp: string;
}

export class VerifiedChainDto {
  @ApiProperty({ type: String, format: 'uuid', nullable: true, description: "null: the platform's chain" })
  partnerId: string | null;
  @ApiProperty()
  verified: boolean;
  @ApiProperty({ type: 'integer' })
  checkedRows: number;
  @ApiProperty(nullableSequence)
  fromSequence: number | null;
  @ApiProperty(nullableSequence)
  toSequence: number | null;
  @ApiProperty({ type: ChainBreakDto, nullable: true })
  firstBreak: ChainBreakDto | null;
  @ApiProperty({ type: ChainHeadDto, nullable: true })
  head: ChainHeadDto | null;
}

/** @see docs/reference/audit.md */
export class ChainVerificationDto {
  @ApiProperty({ type: VerifiedChainDto })
  data: VerifiedChainDto;
}
