import { IsText } from '@rmm/validation';

/** Proofs that every MFA body may carry. @see docs/reference/mfa-and-policies.md */
export class MfaProofsDto {
  @IsText({ optional: true, max: 1024, description: 'The current password of the account' })
  currentPassword?: string;

  @IsText({ optional: true, max: 255, description: 'Grant of `POST /auth/mfa/step-up`' })
  stepUpGrantId?: string;

  @IsText({ optional: true, max: 255, description: 'Grant of `POST /sso/reauth`' })
  ssoReauthGrantId?: string;
}
