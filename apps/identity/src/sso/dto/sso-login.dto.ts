import { ApiProperty } from '@nestjs/swagger';
import { IsEmailAddress, IsText, IsUuid } from '@rmm/validation';
import { LoginUserDto } from '../../users/dto/login-user.dto.js';
import { SSO_TYPES, type SsoType } from '../sso-provider.entity.js';

const RETURN_TO = {
  optional: true,
  max: 1_024,
  description: 'Path within the application to return to',
  example: '/account/security',
};
const nullableId = { type: String, format: 'uuid', nullable: true } as const;

export class ReturnToDto {
  @IsText(RETURN_TO)
  returnTo?: string;
}

export class LinkIdentityDto extends ReturnToDto {
  @IsUuid({ description: 'Id of the identity provider' })
  providerId!: string;

  @IsText({ max: 1_024, optional: true, description: 'The current password of the account' })
  currentPassword?: string;

  @IsText({ max: 255, optional: true, description: 'Of `POST /sso/reauth`, for accounts without a password' })
  ssoReauthGrantId?: string;
}

export class UnlinkIdentityDto {
  @IsText({ max: 1_024, optional: true, description: 'The current password of the account' })
  currentPassword?: string;
}

export class ExchangeCodeDto {
  @IsText({ max: 255, description: 'From the fragment `#ssoCode=`' })
  code!: string;
}

export class SsoDiscoveryRequestDto {
  @IsEmailAddress({ description: 'Address to sign in with' })
  email!: string;
}

/** A login that the browser continues at the identity provider. */
export class SsoRedirectDto {
  @ApiProperty({ format: 'uri', description: 'Send the browser here' })
  redirectUrl: string;
  @ApiProperty({ type: 'integer', enum: [600], description: 'Seconds until it expires' })
  expiresInSeconds: 600;
}

export class SsoLogoutDto {
  @ApiProperty({ enum: [true], description: 'Always true; a failure is an error response' })
  success: true;
  @ApiProperty({
    type: String,
    nullable: true,
    format: 'uri',
    description: 'Ends the session at the provider too; null without one',
  })
  redirectUrl: string | null;
}

/** A session by single sign-on. */
export class SsoSessionDto {
  @ApiProperty({ description: 'JWT, for `Authorization: Bearer`' })
  accessToken: string;
  @ApiProperty({ type: 'integer', description: 'Seconds until it expires' })
  expiresInSeconds: number;
  @ApiProperty({ description: 'For clients that keep the token themselves; browsers have it in a cookie' })
  refreshToken: string;
  @ApiProperty({ description: 'The value of the cookie `service_csrf_token`' })
  csrfToken: string;
  @ApiProperty({ type: LoginUserDto, description: 'The signed-in user' })
  user: LoginUserDto;
}

export class SsoIdentityDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the identity' })
  id: string;
  @ApiProperty({ format: 'uuid', description: 'Id of the identity provider' })
  providerId: string;
  @ApiProperty({ description: 'Name of the identity provider' })
  providerName: string;
  @ApiProperty({
    enum: ['organization', 'partner'],
    description: 'Whether it belongs to an organization or to the partner',
  })
  ownerScope: 'organization' | 'partner';
  @ApiProperty({ ...nullableId, description: 'Organization of the identity' })
  orgId: string | null;
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'The address that the provider asserted when it was linked',
  })
  email: string | null;
  @ApiProperty({ format: 'date-time', description: 'When the identity was created' })
  createdAt: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    description: 'When the user last signed in; null: never',
  })
  lastLoginAt: string | null;
}

class SsoCheckProviderDto {
  @ApiProperty({ format: 'uuid', description: 'Id of the provider' })
  id: string;
  @ApiProperty({ description: 'Name of the provider' })
  name: string;
  @ApiProperty({ enum: SSO_TYPES, description: 'Kind of the provider' })
  type: SsoType;
}

export class SsoCheckDto {
  @ApiProperty({ description: 'Whether a login by single sign-on is possible' })
  ssoEnabled: boolean;
  @ApiProperty({ type: SsoCheckProviderDto, required: false, description: 'The PSA' })
  provider?: SsoCheckProviderDto;
  @ApiProperty({ required: false, description: 'Whether members sign in by single sign-on only' })
  enforceSSO?: boolean;
  @ApiProperty({
    required: false,
    example: '/api/v1/sso/login/5e1d2f0a-7c8e-4a47-9f65-2c6c0f7d3b11',
    description: 'Path that starts the login; send the browser there',
  })
  loginUrl?: string;
}

class DiscoveredSsoDto {
  @ApiProperty({ description: 'Name of the identity provider' })
  providerName: string;
  @ApiProperty({ description: 'Path that starts the login; send the browser there' })
  loginUrl: string;
  @ApiProperty({ enum: [true], description: 'Whether members sign in by single sign-on only' })
  enforceSSO: true;
}

export class SsoDiscoveryDto {
  @ApiProperty({
    type: DiscoveredSsoDto,
    nullable: true,
    description: 'Single sign-on of the address; null without one',
  })
  sso: DiscoveredSsoDto | null;
}

class PartnerSsoDto {
  @ApiProperty({ description: 'Name of the identity provider' })
  providerName: string;
  @ApiProperty({ description: 'Path that starts the login; send the browser there' })
  loginUrl: string;
}

export class LoginContextDto {
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true, description: 'Always null at present' })
  branding: null;
  @ApiProperty({ type: PartnerSsoDto, nullable: true, description: 'Single sign-on of the partner; null without one' })
  partnerSso: PartnerSsoDto | null;
}
