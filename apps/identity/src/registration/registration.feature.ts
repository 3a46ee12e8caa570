import type { Feature } from '../feature.js';
import { RegistrationController } from './registration.controller.js';
import { RegistrationsRepository } from './registrations.repository.js';
import { SignUpService } from './sign-up.service.js';
import { VerificationService } from './verification.service.js';

/** Sign-up and proven addresses. */
export const registrationFeature: Feature = {
  controllers: [RegistrationController],
  providers: [RegistrationsRepository, SignUpService, VerificationService],
};
