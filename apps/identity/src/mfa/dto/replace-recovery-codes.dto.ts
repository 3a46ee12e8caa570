import { MfaProofsDto } from './mfa-proofs.dto.js';

export class ReplaceRecoveryCodesDto extends MfaProofsDto {}
