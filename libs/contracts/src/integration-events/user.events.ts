/**
 * `data` of `user.mfa_reset`: an administrator removed the factors of a user and ended the user's sessions. A service that
 * keeps connections of the user open beyond a request (remote sessions, streams) closes them.
 */
export interface UserMfaReset {
  userId: string;
  /** The user's MFA epoch from now on: a connection opened under a smaller one is invalid. */
  mfaEpoch: number;
}
