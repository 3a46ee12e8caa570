import { MfaProofsDto } from './mfa-proofs.dto.js';

export class StartMfaSetupDto extends MfaProofsDto {}
