/** `data` of `user.login`. @see docs/reference/events.md */
export interface UserLogin {
  userId: string;
  email: string;
  mfa: boolean;
  method: 'password' | 'passkey' | 'sso' | 'invite';
}

/** `data` of `user.logout`. */
export interface UserLogout {
  userId: string;
  email: string;
}

/** `data` of `user.invited`: what the organization gave, without the link. */
export interface UserInvited {
  userId: string;
  email: string;
  name: string;
  roleId: string;
  /** Null when no user of the tenant invited. */
  invitedBy: string | null;
}
