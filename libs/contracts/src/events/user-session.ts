/** `data` of `user.login`. @see CONTRACT.md 8.2 */
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
