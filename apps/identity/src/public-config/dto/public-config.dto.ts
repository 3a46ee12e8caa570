import { ApiProperty } from '@nestjs/swagger';

export class FeaturesDto {
  @ApiProperty()
  billing: boolean;
  @ApiProperty()
  support: boolean;
}

export class EnabledDto {
  @ApiProperty()
  enabled: boolean;
}

export class UploadsEnabledDto {
  @ApiProperty()
  uploadsEnabled: boolean;
}

/** Features that are enabled on this installation. */
export class PublicConfigDto {
  @ApiProperty({ type: FeaturesDto })
  features: FeaturesDto;
  @ApiProperty({ type: EnabledDto })
  cfAccessLogin: EnabledDto;
  @ApiProperty({ type: EnabledDto, description: 'Whether to offer sign-up' })
  registration: EnabledDto;
  @ApiProperty({ type: UploadsEnabledDto })
  softwarePackages: UploadsEnabledDto;
  @ApiProperty({ type: EnabledDto })
  mfa: EnabledDto;
}
