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

  /** Returns the token of the newest reset mail. */
  readonly linkFor = async (email: string): Promise<string> => (await this.linksFor(email, 1))[0];

  /** Returns the tokens of all reset mails, once there are so many. Mails of the same moment arrive in any order. */
  readonly linksFor = (email: string, count: number): Promise<string[]> =>
    eventually(async () => {
      const mails = await this.mailsOf(email, 'Choose a new password');
      if (mails.length < count) throw new Error(`${mails.length} reset mails for ${email}`);
      return mails.map(({ text }) => /token=([A-Za-z0-9_-]+)/.exec(text)?.[1] ?? '');
    });

  /** Sets a new password with each of the links. @returns the sorted status codes */
  readonly resetWithEach = async (tokens: readonly string[]): Promise<number[]> => {
    const statuses: number[] = [];
    for (const token of tokens) statuses.push((await this.reset(token)).status);
    return statuses.sort((one, other) => one - other);
  };

  readonly requestLink = async ({ email }: Pick<TestUser, 'email'>): Promise<string> => {
    expectStatus(await this.forgot(email), 200);
    return this.linkFor(email);
  };
}
