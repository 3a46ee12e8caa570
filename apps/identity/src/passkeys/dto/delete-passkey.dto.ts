import { MfaProofsDto } from '../../mfa/dto/mfa-proofs.dto.js';

export class DeletePasskeyDto extends MfaProofsDto {}
