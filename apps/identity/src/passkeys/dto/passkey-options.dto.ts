import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';

/** The JSON form of the options of `navigator.credentials.get`. */
export class RequestOptionsDto implements PublicKeyCredentialRequestOptionsJSON {
  @ApiProperty({ description: 'Base64url; valid for five minutes and for one response' })
  challenge: string;
  @ApiPropertyOptional({ type: 'integer', description: 'Milliseconds' })
  timeout?: number;
  @ApiPropertyOptional({ example: 'app.example.com', description: 'Relying party of the passkey' })
  rpId?: string;
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'Absent to sign in: the authenticator offers its own',
  })
  allowCredentials?: PublicKeyCredentialRequestOptionsJSON['allowCredentials'];
  @ApiPropertyOptional({ type: String, enum: ['required'], description: 'Whether the authenticator verifies the user' })
  userVerification?: PublicKeyCredentialRequestOptionsJSON['userVerification'];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'WebAuthn extensions that are requested',
  })
  extensions?: PublicKeyCredentialRequestOptionsJSON['extensions'];
}

/** The JSON form of the options of `navigator.credentials.create`. */
export class CreationOptionsDto implements PublicKeyCredentialCreationOptionsJSON {
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { id: 'app.example.com', name: 'RMM' },
    description: 'Relying party',
  })
  rp: PublicKeyCredentialCreationOptionsJSON['rp'];
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'The user as the authenticator stores it' })
  user: PublicKeyCredentialCreationOptionsJSON['user'];
  @ApiProperty({ description: 'Base64url; valid for five minutes and for one response' })
  challenge: string;
  @ApiProperty({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'Algorithms that are accepted',
  })
  pubKeyCredParams: PublicKeyCredentialCreationOptionsJSON['pubKeyCredParams'];
  @ApiPropertyOptional({ type: 'integer', description: 'Milliseconds' })
  timeout?: number;
  @ApiPropertyOptional({
    type: 'array',
    items: { type: 'object', additionalProperties: true },
    description: 'Passkeys that the user has already',
  })
  excludeCredentials?: PublicKeyCredentialCreationOptionsJSON['excludeCredentials'];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'Requirements for the authenticator',
  })
  authenticatorSelection?: PublicKeyCredentialCreationOptionsJSON['authenticatorSelection'];
  @ApiPropertyOptional({ type: [String], description: 'Kinds of authenticators to offer first' })
  hints?: PublicKeyCredentialCreationOptionsJSON['hints'];
  @ApiPropertyOptional({ type: String, enum: ['none'], description: 'Whether an attestation is requested' })
  attestation?: PublicKeyCredentialCreationOptionsJSON['attestation'];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'WebAuthn extensions that are requested',
  })
  extensions?: PublicKeyCredentialCreationOptionsJSON['extensions'];
}

export class RequestStartedDto {
  @ApiProperty({ type: RequestOptionsDto, description: 'WebAuthn options for the browser' })
  options: RequestOptionsDto;
}

export class RegistrationStartedDto {
  @ApiProperty({ type: CreationOptionsDto, description: 'WebAuthn options for the browser' })
  options: CreationOptionsDto;
}
