import { ApiProperty } from '@nestjs/swagger';

const LIST = { type: 'array', items: { type: 'object', additionalProperties: true } } as const;

/** For OpenAPI; the shapes are those of `ImportPreview` and `ImportResult`. */
export class ImportPreviewDto {
  @ApiProperty({ ...LIST, description: 'Each row as sent, with index, annotation, slug, organizationId' })
  rows: object[];
  @ApiProperty(LIST)
  warnings: object[];
}

export class ImportResultDto {
  @ApiProperty(LIST)
  imported: object[];
  @ApiProperty(LIST)
  updated: object[];
  @ApiProperty(LIST)
  skipped: object[];
  @ApiProperty({ ...LIST, description: 'index, organization, error, code' })
  errors: object[];
  @ApiProperty(LIST)
  warnings: object[];
}
