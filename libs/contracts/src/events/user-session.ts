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
