import { ApiProperty } from '@nestjs/swagger';

const nullableText = { type: String, nullable: true } as const;

class RecordDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  orgId: string;
  @ApiProperty({ ...nullableText, format: 'uuid' })
  siteId: string | null;
  @ApiProperty({ format: 'date-time' })
  sourceUpdatedAt: string;
  @ApiProperty({ description: 'SHA-256 of the rest of the record' })
  revision: string;
}

export class OrganizationRecordDto extends RecordDto {
  @ApiProperty()
  name: string;
  @ApiProperty()
  slug: string;
  @ApiProperty({ enum: ['customer', 'internal'] })
  type: string;
  @ApiProperty({ enum: ['active', 'trial'] })
  status: string;
}

class AddressDto {
  @ApiProperty(nullableText)
  line1: string | null;
  @ApiProperty(nullableText)
  line2: string | null;
  @ApiProperty(nullableText)
  city: string | null;
  @ApiProperty(nullableText)
  region: string | null;
  @ApiProperty(nullableText)
  postalCode: string | null;
  @ApiProperty(nullableText)
  country: string | null;
}

class SiteContactDto {
  @ApiProperty(nullableText)
  name: string | null;
  @ApiProperty(nullableText)
  email: string | null;
  @ApiProperty(nullableText)
  phone: string | null;
}

export class SiteRecordDto extends RecordDto {
  @ApiProperty()
  name: string;
  @ApiProperty({ description: 'IANA name' })
  timezone: string;
  @ApiProperty({ type: AddressDto, nullable: true })
  address: AddressDto | null;
  @ApiProperty({ type: SiteContactDto, nullable: true })
  contact: SiteContactDto | null;
}

class ExportPageDto {
  @ApiProperty({ enum: ['1'] })
  schemaVersion: string;
  @ApiProperty({ format: 'date-time', description: 'The same on every page of a walk' })
  snapshotAt: string;
  @ApiProperty({ ...nullableText, description: 'Follow it while `hasMore` is true' })
  nextCursor: string | null;
  @ApiProperty()
  hasMore: boolean;
}

export class OrganizationPageDto extends ExportPageDto {
  @ApiProperty({ type: [OrganizationRecordDto] })
  data: OrganizationRecordDto[];
}

export class SitePageDto extends ExportPageDto {
  @ApiProperty({ type: [SiteRecordDto] })
  data: SiteRecordDto[];
}
