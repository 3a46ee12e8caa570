import type { Feature } from '../feature.js';
import { AccountController } from './account.controller.js';
import { AvatarImages } from './avatar-images.js';
import { AvatarsController } from './avatars.controller.js';
import { AvatarsService } from './avatars.service.js';
import { EmailChangeService } from './email-change.service.js';
import { ProfileUpdateService } from './profile-update.service.js';
import { ProfileService } from './profile.service.js';

/** What somebody does with its own account: profile, avatar, address. */
export const accountFeature: Feature = {
  controllers: [AccountController, AvatarsController],
  providers: [AvatarImages, AvatarsService, EmailChangeService, ProfileService, ProfileUpdateService],
};
