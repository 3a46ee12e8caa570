import type { Feature } from '../feature.js';
import { ForgotPasswordQueue } from './forgot-password-queue.js';
import { ForgotPasswordProcessor } from './forgot-password.processor.js';
import { ForgottenPasswords } from './forgotten-passwords.service.js';
import { PasswordResetService } from './password-reset.service.js';
import { PasswordsController } from './passwords.controller.js';
import { ResetLinks } from './reset-links.js';
import { ResetLinksRepository } from './reset-links.repository.js';

/** Forgotten passwords. */
export const passwordsFeature: Feature = {
  controllers: [PasswordsController],
  providers: [
    ForgotPasswordProcessor,
    ForgotPasswordQueue,
    ForgottenPasswords,
    PasswordResetService,
    ResetLinks,
    ResetLinksRepository,
  ],
};
