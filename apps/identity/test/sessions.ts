import { expectStatus, freshAddress, PASSWORD, type IdentityReplica } from './identity-test-app.js';
import { sessionOf, type TestUser } from './users.js';

export const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0';
export const NEWER_FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
export const SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15';

export interface ListedSession {
  id: string;
  current: boolean;
  device: string;
}

/** Signs users in with their password on various devices, and lists and refreshes their sessions. */
export class SessionsClient {
  constructor(private readonly identity: IdentityReplica) {}

  readonly signIn = async ({ email }: Pick<TestUser, 'email'>, userAgent = FIREFOX, from = freshAddress()) => {
    const options = { from, headers: { 'user-agent': userAgent } };
    return sessionOf(
      expectStatus(await this.identity.post('/auth/login', { email, password: PASSWORD }, options), 200),
    );
  };

  readonly list = async (bearer: string, query = '') =>
    expectStatus(await this.identity.get(`/auth/sessions${query}`, { bearer }), 200).body as {
      data: ListedSession[];
      pagination: object;
    };

  readonly currentId = async (bearer: string): Promise<string> =>
    (await this.list(bearer)).data.find(({ current }) => current)?.id ?? '';

  readonly refresh = (cookies: Record<string, string>, userAgent = FIREFOX, from = freshAddress()) =>
    this.identity.post('/auth/refresh', undefined, {
      cookies,
      from,
      headers: { 'x-service-csrf': cookies.service_csrf_token ?? '', 'user-agent': userAgent },
    });
}
