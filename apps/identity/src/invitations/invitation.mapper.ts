import type { InvitationDto } from './dto/invitation.dto.js';
import type { ListedInvitation } from './invitations.repository.js';

export const toInvitationDto = ({ createdAt, expiresAt, ...invitation }: ListedInvitation): InvitationDto => ({
  ...invitation,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
});
