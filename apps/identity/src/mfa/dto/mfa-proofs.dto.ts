import { IsText } from '@rmm/validation';

/** Proofs that every MFA body may carry. @see docs/reference/mfa-and-policies.md */
export class MfaProofsDto {
  @IsText({ optional: true, max: 1024 })
  currentPassword?: string;

  @IsText({ optional: true, max: 255 })
  stepUpGrantId?: string;

  @IsText({ optional: true, max: 255 })
  ssoReauthGrantId?: string;
}
