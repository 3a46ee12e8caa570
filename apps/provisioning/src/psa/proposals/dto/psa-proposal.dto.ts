import { ApiProperty } from '@nestjs/swagger';
import { IsFlag, IsNestedList, IsOneOf, IsUuid, IsUuidList } from '@rmm/validation';
import type { ImportMode } from '../../../import/import-decision.policy.js';
import { ANNOTATIONS, type Annotation } from '../../../import/import-rows.js';
import { SortedPageQueryDto } from '../../../lists/dto/sorted-page-query.dto.js';
import { PROPOSAL_KINDS, PROPOSAL_STATUSES, type ProposalKind, type ProposalStatus } from '../psa-proposal.entity.js';

export class ListPsaProposalsDto extends SortedPageQueryDto {
  @IsOneOf(PROPOSAL_KINDS, { optional: true, description: 'Only those of this kind' })
  kind?: ProposalKind;

  @IsOneOf(PROPOSAL_STATUSES, { optional: true, description: '`open` when absent' })
  status: ProposalStatus = 'open';
}

export class PsaProposalDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the proposal' })
  id!: string;
  @ApiProperty({ enum: PROPOSAL_KINDS, description: 'A new company, or another name of a linked one' })
  kind!: ProposalKind;
  @ApiProperty({ enum: PROPOSAL_STATUSES, description: 'State of the proposal' })
  status!: ProposalStatus;
  @ApiProperty({ description: 'Id of the company in the PSA' })
  externalId!: string;
  @ApiProperty({ description: 'Name of the company in the PSA' })
  name!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The row of an open company, as a preview has it',
  })
  company!: Record<string, unknown> | null;
  @ApiProperty({
    enum: ANNOTATIONS,
    nullable: true,
    type: String,
    description: 'The effect of accepting an open company',
  })
  annotation!: Annotation | null;
  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'The organization of a rename, or that the company matches',
  })
  organizationId!: string | null;
  @ApiProperty({ type: String, nullable: true, description: 'Its name here' })
  organizationName!: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the proposal was created' })
  createdAt!: string;
}

export class AcceptedProposalDto {
  @IsUuid({ description: 'Id of the proposal' })
  id!: string;

  @IsOneOf(ANNOTATIONS, { optional: true, description: 'Refuses the company when its annotation is another one' })
  expectedAnnotation?: Annotation;

  @IsUuid({ optional: true, description: 'Refuses the company when it matches another organization' })
  expectedOrganizationId?: string;

  @IsFlag({ optional: true, description: 'Restores a deleted organization that matches' })
  reactivate?: boolean;

  @IsFlag({ optional: true, description: 'Creates an organization in spite of a match by name' })
  forceCreate?: boolean;
}

export class AcceptPsaProposalsDto {
  @IsNestedList(() => AcceptedProposalDto, { min: 1, max: 1_000, description: 'Proposals to accept' })
  items!: AcceptedProposalDto[];

  @IsOneOf(['skip', 'update'], { optional: true, description: '`skip` by default' })
  mode?: ImportMode;
}

export class DismissPsaProposalsDto {
  @IsUuidList({ min: 1, max: 1_000, description: 'Proposals to dismiss' })
  ids!: string[];
}

export class DismissedProposalsDto {
  @ApiProperty({ type: 'integer', description: 'Open proposals that are dismissed' })
  dismissed!: number;
}
