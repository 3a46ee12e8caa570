import { ApiProperty } from '@nestjs/swagger';

class CurrentPrincipalDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the principal' })
  id: string;
  @ApiProperty({ description: 'Name of the principal' })
  name: string;
}

class PresentedKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the key' })
  id: string;
  @ApiProperty({ description: 'Name of the key' })
  name: string;
  @ApiProperty({ description: 'The first 18 characters of the key' })
  prefix: string;
  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'The earlier expiry of key and principal',
  })
  expiresAt: string | null;
}

class KeyWindowDto {
  @ApiProperty({ description: 'Requests in any hour' })
  limit: number;
  @ApiProperty({ description: 'Seconds of the window' })
  windowSeconds: number;
  @ApiProperty({ description: 'Requests that are left now' })
  remaining: number;
  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description:
      'When the oldest counted request leaves the window, or with none left when the next one is allowed; null while nothing is counted',
  })
  resetsAt: string | null;
}

class KeyWindowsDto {
  @ApiProperty({ description: 'GET requests of the key' })
  reads: KeyWindowDto;
  @ApiProperty({ description: 'Shared by the keys of the principal' })
  writes: KeyWindowDto;
}

export class CurrentKeyDto {
  @ApiProperty({ format: 'uuid', description: 'Partner of the key' })
  partnerId: string;
  @ApiProperty({ description: 'Principal that the key belongs to' })
  principal: CurrentPrincipalDto;
  @ApiProperty({ description: 'The key of the request' })
  key: PresentedKeyDto;
  @ApiProperty({ type: [String], description: 'Scopes of the principal' })
  scopes: string[];
  @ApiProperty({ description: 'Limits of the key and what is left of them' })
  limits: KeyWindowsDto;
}
