import { ApiProperty } from '@nestjs/swagger';

const NULLABLE_TEXT = { type: String, nullable: true } as const;

class RecordDto {
  @ApiProperty({ format: 'uuid' })
  id: string;
  @ApiProperty({ format: 'uuid' })
  orgId: string;
  @ApiProperty({ ...NULLABLE_TEXT, format: 'uuid' })
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
  @ApiProperty(NULLABLE_TEXT)
  line1: string | null;
  @ApiProperty(NULLABLE_TEXT)
  line2: string | null;
  @ApiProperty(NULLABLE_TEXT)
  city: string | null;
  @ApiProperty(NULLABLE_TEXT)
  region: string | null;
  @ApiProperty(NULLABLE_TEXT)
  postalCode: string | null;
  @ApiProperty(NULLABLE_TEXT)
  country: string | null;
}

class SiteContactDto {
  @ApiProperty(NULLABLE_TEXT)
  name: string | null;
  @ApiProperty(NULLABLE_TEXT)
  email: string | null;
  @ApiProperty(NULLABLE_TEXT)
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
  @ApiProperty({ format: 'date-time', description: 'The same on every page of an export' })
  snapshotAt: string;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Cursor of the next page while `hasMore` is true' })
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
