import { ApiProperty } from '@nestjs/swagger';

const NULLABLE_TEXT = { type: String, nullable: true } as const;

export class RecordDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the record' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the record' })
  orgId: string;
  @ApiProperty({ ...NULLABLE_TEXT, format: 'uuid', description: 'Site of the record; null when it belongs to none' })
  siteId: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the record changed last' })
  sourceUpdatedAt: string;
  @ApiProperty({ description: 'SHA-256 of the rest of the record' })
  revision: string;
}

export class OrganizationRecordDto extends RecordDto {
  @ApiProperty({ description: 'Name of the organization' })
  name: string;
  @ApiProperty({ description: 'Short name, unique among the organizations of the partner' })
  slug: string;
  @ApiProperty({ enum: ['customer', 'internal'], description: '`internal` for the organization of the partner itself' })
  type: string;
  @ApiProperty({ enum: ['active', 'trial'], description: 'Status; others are not listed' })
  status: string;
}

class AddressDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Street and number' })
  line1: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Second line of the street' })
  line2: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'City' })
  city: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'State or region' })
  region: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Postal code' })
  postalCode: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Country' })
  country: string | null;
}

class SiteContactDto {
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Name of the contact' })
  name: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'E-mail address' })
  email: string | null;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Telephone number' })
  phone: string | null;
}

export class SiteRecordDto extends RecordDto {
  @ApiProperty({ description: 'Name of the site' })
  name: string;
  @ApiProperty({ description: 'IANA name' })
  timezone: string;
  @ApiProperty({ type: AddressDto, nullable: true, description: 'Postal address' })
  address: AddressDto | null;
  @ApiProperty({ type: SiteContactDto, nullable: true, description: 'Whom to ask at the site' })
  contact: SiteContactDto | null;
}

export class WithheldRecordDto {
  @ApiProperty({ description: 'The list' })
  resource: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the record' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Organization of the record' })
  orgId: string;
  @ApiProperty({ enum: ['secret_detected', 'content_too_large'], description: 'Why it is withheld' })
  reason: string;
  @ApiProperty({ type: [String], maxItems: 20, description: 'Paths of the fields, such as `contact.name`' })
  fieldPaths: string[];
}

export class ExportPageDto {
  @ApiProperty({ enum: ['1'], description: 'Version of the envelope' })
  schemaVersion: string;
  @ApiProperty({ format: 'date-time', description: 'The same on every page of an export' })
  snapshotAt: string;
  @ApiProperty({ ...NULLABLE_TEXT, description: 'Cursor of the next page while `hasMore` is true' })
  nextCursor: string | null;
  @ApiProperty({ description: 'True exactly when `nextCursor` is not null' })
  hasMore: boolean;
  @ApiProperty({
    type: [WithheldRecordDto],
    required: false,
    description: 'Records of the page that were withheld; absent when there are none',
  })
  blocked?: WithheldRecordDto[];
}

export class OrganizationPageDto extends ExportPageDto {
  @ApiProperty({ type: [OrganizationRecordDto], description: 'Records of the page' })
  data: OrganizationRecordDto[];
}

export class SitePageDto extends ExportPageDto {
  @ApiProperty({ type: [SiteRecordDto], description: 'Records of the page' })
  data: SiteRecordDto[];
}
