import type { Feature } from '../feature.js';
import { AddressConfirmationService } from './address-confirmation.service.js';
import { AddressLinksRepository } from './address-links.repository.js';
import { RegistrationController } from './registration.controller.js';
import { RegistrationsRepository } from './registrations.repository.js';
import { ResendVerificationService } from './resend-verification.service.js';
import { SignUpService } from './sign-up.service.js';
import { VerificationService } from './verification.service.js';

/** Sign-up and proven addresses. */
export const registrationFeature: Feature = {
  controllers: [RegistrationController],
  providers: [
    AddressConfirmationService,
    AddressLinksRepository,
    RegistrationsRepository,
    ResendVerificationService,
    SignUpService,
    VerificationService,
  ],
};
