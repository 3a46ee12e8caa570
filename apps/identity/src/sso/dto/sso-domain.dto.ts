import { ApiProperty } from '@nestjs/swagger';
import { fieldOf, IsUuid, PageQueryDto } from '@rmm/validation';
import { isDomain } from '../email-domain.js';

/** A full domain name; upper case is lowered. */
function IsDomain(): PropertyDecorator {
  return fieldOf({
    name: 'isDomain',
    read: (value) => (typeof value === 'string' ? value.trim().toLowerCase() : value),
    check: (value) => typeof value === 'string' && isDomain(value),
    text: 'must be a domain name in ASCII, such as example.com',
    description: 'E-mail domain',
    api: { type: String, maxLength: 253, example: 'example.com' },
  });
}

export class CreateSsoDomainDto {
  @IsDomain()
  domain!: string;

  @IsUuid({ optional: true, description: 'Required for partner and system callers' })
  orgId?: string;
}

export class ListSsoDomainsDto extends PageQueryDto {
  @IsUuid({ optional: true, description: 'Required for partner and system callers' })
  orgId?: string;
}

export class SsoDomainDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the domain' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the domain' })
  orgId: string;
  @ApiProperty({ description: 'E-mail domain' })
  domain: string;
  @ApiProperty({ description: 'Create a TXT record of this name', example: '_sso-verification.example.com' })
  txtRecordName: string;
  @ApiProperty({ description: 'with this text' })
  txtRecordValue: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the domain was verified; null: not yet',
  })
  verifiedAt: string | null;
}

export class SsoDomainResponseDto {
  @ApiProperty({ type: SsoDomainDto, description: 'The domain' })
  data: SsoDomainDto;
}
