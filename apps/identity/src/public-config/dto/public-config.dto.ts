import { ApiProperty } from '@nestjs/swagger';

export class FeaturesDto {
  @ApiProperty({ description: 'Whether billing is offered' })
  billing: boolean;
  @ApiProperty({ description: 'Whether support is offered' })
  support: boolean;
}

export class EnabledDto {
  @ApiProperty({ description: 'Whether it is switched on' })
  enabled: boolean;
}

export class UploadsEnabledDto {
  @ApiProperty({ description: 'Whether files can be uploaded' })
  uploadsEnabled: boolean;
}

/** Features that are enabled on this installation. */
export class PublicConfigDto {
  @ApiProperty({ type: FeaturesDto, description: 'Features that are switched on' })
  features: FeaturesDto;
  @ApiProperty({ type: EnabledDto, description: 'Sign-in by Cloudflare Access' })
  cfAccessLogin: EnabledDto;
  @ApiProperty({ type: EnabledDto, description: 'Whether to offer sign-up' })
  registration: EnabledDto;
  @ApiProperty({ type: UploadsEnabledDto, description: 'Uploads of software packages' })
  softwarePackages: UploadsEnabledDto;
  @ApiProperty({ type: EnabledDto, description: 'Second factors' })
  mfa: EnabledDto;
}
