import { ApiProperty } from '@nestjs/swagger';
import type { PartnerStatus } from '@rmm/contracts';
import { InviteDeliveryDto } from '../../invitations/dto/invitation.dto.js';
import { PARTNER_STATUSES, PARTNER_TYPES, type PartnerType } from '../partner.entity.js';

const cap = { type: 'integer', nullable: true, description: 'null: no cap' } as const;

/** A partner as the API shows it. */
export class PartnerDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty()
  name: string;
  @ApiProperty()
  slug: string;
  @ApiProperty({ enum: PARTNER_TYPES })
  type: PartnerType;
  @ApiProperty()
  plan: string;
  @ApiProperty({ enum: PARTNER_STATUSES })
  status: PartnerStatus;
  @ApiProperty({ type: 'object', additionalProperties: true })
  settings: Record<string, unknown>;
  @ApiProperty(cap)
  maxOrganizations: number | null;
  @ApiProperty(cap)
  maxDevices: number | null;
  @ApiProperty({ description: 'IANA name' })
  timezone: string;
  @ApiProperty({ type: String, format: 'email', nullable: true })
  billingEmail: string | null;
  @ApiProperty({ example: 'USD' })
  currencyCode: string;
  @ApiProperty({ format: 'date-time' })
  createdAt: string;
  @ApiProperty({ format: 'date-time' })
  updatedAt: string;
}

export class PartnerInviteDto extends InviteDeliveryDto {
  @ApiProperty({ format: 'uuid' })
  userId: string;
}

export class CreatedPartnerDto extends PartnerDto {
  @ApiProperty({ type: PartnerInviteDto, description: 'The invitation of its administrator' })
  invite: PartnerInviteDto;
}
