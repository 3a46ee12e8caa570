import { eventually } from '@rmm/testing-services';
import { expectStatus, type IdentityReplica } from './identity-test-app.js';
import type { TestUser } from './users.js';

export const NEW_PASSWORD = 'violet umbrella tango';

/** Requests links to reset passwords, reads them from the mails, and uses them. */
export class PasswordResetsClient {
  constructor(private readonly identity: IdentityReplica) {}

  readonly forgot = (email: string, options = {}) => this.identity.post('/auth/forgot-password', { email }, options);

  readonly reset = (token: string, password = NEW_PASSWORD, options = {}) =>
    this.identity.post('/auth/reset-password', { token, password }, options);

  readonly mailsOf = async (email: string, subject: string) =>
    (await this.identity.mails(email)).filter((mail) => mail.subject === subject);

  /** Returns the token of the newest reset mail, once there are so many. */
  readonly linkFor = (email: string, count = 1): Promise<string> =>
    eventually(async () => {
      const mails = await this.mailsOf(email, 'Choose a new password');
      if (mails.length < count) throw new Error(`${mails.length} reset mails for ${email}`);
      return /token=([A-Za-z0-9_-]+)/.exec(mails[0]?.text ?? '')?.[1] ?? '';
    });

  readonly requestLink = async ({ email }: Pick<TestUser, 'email'>): Promise<string> => {
    expectStatus(await this.forgot(email), 200);
    return this.linkFor(email);
  };
}
