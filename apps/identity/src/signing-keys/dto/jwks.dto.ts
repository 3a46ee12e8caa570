import { ApiProperty } from '@nestjs/swagger';

/** A public key of access tokens, with the names of RFC 7517. */
export class PublicJwkDto {
  @ApiProperty({ enum: ['EC'] })
  kty: string;
  @ApiProperty({ enum: ['P-256'] })
  crv: string;
  @ApiProperty()
  x: string;
  @ApiProperty()
  y: string;
  @ApiProperty()
  kid: string;
  @ApiProperty({ enum: ['ES256'] })
  alg: string;
  @ApiProperty({ enum: ['sig'] })
  use: string;
}

export class JwksDto {
  @ApiProperty({ type: [PublicJwkDto], description: 'The active one first, then those retired less than a day ago' })
  keys: PublicJwkDto[];
}
