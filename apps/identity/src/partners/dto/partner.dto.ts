import { ApiProperty } from '@nestjs/swagger';
import type { PartnerStatus } from '@rmm/contracts';
import { InviteDeliveryDto } from '../../invitations/dto/invitation.dto.js';
import { PARTNER_STATUSES, PARTNER_TYPES, type PartnerType } from '../partner.entity.js';

const cap = { type: 'integer', nullable: true } as const;

/** A partner as the API shows it. */
export class PartnerDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the partner' })
  id: string;
  @ApiProperty({ description: 'Name of the partner' })
  name: string;
  @ApiProperty({ description: 'Short name of the partner, unique and usable in URLs' })
  slug: string;
  @ApiProperty({ enum: PARTNER_TYPES, description: 'Kind of the partner' })
  type: PartnerType;
  @ApiProperty({ description: 'Plan of the partner' })
  plan: string;
  @ApiProperty({ enum: PARTNER_STATUSES, description: 'State of the partner' })
  status: PartnerStatus;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Settings of the partner' })
  settings: Record<string, unknown>;
  @ApiProperty({ ...cap, description: 'Most organizations of the partner; null: no limit' })
  maxOrganizations: number | null;
  @ApiProperty({ ...cap, description: 'Most devices of the partner; null: no limit' })
  maxDevices: number | null;
  @ApiProperty({ description: 'IANA name' })
  timezone: string;
  @ApiProperty({ type: String, format: 'email', nullable: true, description: 'Address for invoices' })
  billingEmail: string | null;
  @ApiProperty({ example: 'USD', description: 'ISO 4217 code of the currency' })
  currencyCode: string;
  @ApiProperty({ format: 'date-time', description: 'When the partner was created' })
  createdAt: string;
  @ApiProperty({ format: 'date-time', description: 'When the partner was last changed' })
  updatedAt: string;
}

export class PartnerInviteDto extends InviteDeliveryDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the new administrator' })
  userId: string;
}

export class CreatedPartnerDto extends PartnerDto {
  @ApiProperty({ type: PartnerInviteDto, description: 'The invitation of its administrator' })
  invite: PartnerInviteDto;
}
