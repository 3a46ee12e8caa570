import type { Feature } from '../feature.js';
import { AccountController } from './account.controller.js';
import { EmailChangeService } from './email-change.service.js';
import { ProfileUpdateService } from './profile-update.service.js';
import { ProfileService } from './profile.service.js';

/** What somebody does with its own account: profile, avatar, address. */
export const accountFeature: Feature = {
  controllers: [AccountController],
  providers: [EmailChangeService, ProfileService, ProfileUpdateService],
};
