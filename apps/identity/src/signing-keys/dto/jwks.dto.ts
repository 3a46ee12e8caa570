import { ApiProperty } from '@nestjs/swagger';

/** A public key of access tokens, with the names of RFC 7517. */
export class PublicJwkDto {
  @ApiProperty({ enum: ['EC'], description: 'Key type' })
  kty: string;
  @ApiProperty({ enum: ['P-256'], description: 'Curve' })
  crv: string;
  @ApiProperty({ description: 'x coordinate, base64url' })
  x: string;
  @ApiProperty({ description: 'y coordinate, base64url' })
  y: string;
  @ApiProperty({ description: 'Id of the key, as in the header of a token' })
  kid: string;
  @ApiProperty({ enum: ['ES256'], description: 'Algorithm' })
  alg: string;
  @ApiProperty({ enum: ['sig'], description: 'Use of the key' })
  use: string;
}

export class JwksDto {
  @ApiProperty({ type: [PublicJwkDto], description: 'The active one first, then those retired less than a day ago' })
  keys: PublicJwkDto[];
}
