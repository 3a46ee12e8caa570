import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A response of the provider before it is sent. */
export interface HostileResponse {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

/** Changes to one login; each is applied to what a correct provider would send. */
export interface Mutation {
  claims?: (claims: JWTPayload) => JWTPayload;
  header?: (header: Record<string, unknown>) => Record<string, unknown>;
  /** Signs the ID token instead of the key of the provider. */
  signIdToken?: (claims: JWTPayload, provider: HostileProvider) => Promise<string>;
  idToken?: (token: string) => string | undefined;
  token?: (reply: HostileResponse) => HostileResponse | Promise<HostileResponse>;
  userInfo?: (reply: HostileResponse) => HostileResponse | Promise<HostileResponse>;
  jwks?: (reply: HostileResponse) => HostileResponse | Promise<HostileResponse>;
  discovery?: (reply: HostileResponse) => HostileResponse | Promise<HostileResponse>;
  /** Changes the authorization response. */
  response?: (parameters: URLSearchParams) => void;
}

const KID = 'key-1';
const CODE = 'an-authorization-code-';

/** An OpenID provider on loopback that answers correctly but for one mutation at a time. */
export class HostileProvider {
  static readonly clientId = 'rmm';
  static readonly clientSecret = 'a client secret of specs, long enough';
  mutation: Mutation = {};
  user: JWTPayload = { sub: 'subject-1', email: 'user@example.com', email_verified: true, name: 'Uma User' };
  /** Paths that were called, in order. */
  readonly calls: string[] = [];
  /** The last token request. */
  tokenRequest = new URLSearchParams();
  private challenge = '';

  private constructor(
    readonly issuer: string,
    readonly key: CryptoKey,
    readonly publicJwk: JWK,
    private readonly server: Server,
  ) {}

  static async start(): Promise<HostileProvider> {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const publicJwk = { ...(await exportJWK(publicKey)), kid: KID, alg: 'RS256', use: 'sig' };
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const provider = new HostileProvider(issuer, privateKey, publicJwk, server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      provider.respond(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
    return provider;
  }

  /** Begins a correct login again. */
  reset(mutation: Mutation = {}): void {
    this.mutation = mutation;
    this.calls.length = 0;
  }

  /** Returns the URL that a browser is sent back to from an authorization URL. */
  authorize(authorizationUrl: string): string {
    const { searchParams } = new URL(authorizationUrl);
    this.challenge = searchParams.get('code_challenge') ?? '';
    const back = new URL(searchParams.get('redirect_uri') ?? '');
    back.searchParams.set('code', `${CODE}${searchParams.get('nonce') ?? ''}`); // concurrent logins differ by it
    back.searchParams.set('state', searchParams.get('state') ?? '');
    back.searchParams.set('iss', this.issuer);
    this.mutation.response?.(back.searchParams);
    return back.href;
  }

  get codeChallenge(): string {
    return this.challenge;
  }

  claims(nonce = this.tokenRequest.get('code')?.slice(CODE.length)): JWTPayload {
    const now = Math.floor(Date.now() / 1_000);
    const { issuer: iss } = this;
    return { iss, aud: HostileProvider.clientId, iat: now, exp: now + 300, auth_time: now, nonce, ...this.user };
  }

  sign(claims: JWTPayload, header: Record<string, unknown> = {}): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: KID, ...header }).sign(this.key);
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.issuer);
    this.calls.push(pathname);
    const reply = await this.replyTo(pathname, request);
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
  }

  private async replyTo(pathname: string, request: IncomingMessage): Promise<HostileResponse> {
    const { mutation, issuer } = this;
    const of = (body: unknown): HostileResponse => ({ status: 200, headers: {}, body });
    const same = (reply: HostileResponse) => reply;
    if (pathname === '/.well-known/openid-configuration') {
      return (mutation.discovery ?? same)(
        of({
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}/token`,
          userinfo_endpoint: `${issuer}/userinfo`,
          jwks_uri: `${issuer}/jwks`,
          end_session_endpoint: `${issuer}/logout`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256', 'none'],
          authorization_response_iss_parameter_supported: true,
        }),
      );
    }
    if (pathname === '/jwks') return (mutation.jwks ?? same)(of({ keys: [this.publicJwk] }));
    if (pathname === '/userinfo') return (mutation.userInfo ?? same)(of({ ...this.user }));
    if (pathname !== '/token') return { status: 404, headers: {}, body: {} };
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.tokenRequest = new URLSearchParams(Buffer.concat(chunks).toString());
    const id_token = await this.idToken(this.tokenRequest.get('code')?.slice(CODE.length));
    const token = { access_token: 'an-access-token', token_type: 'Bearer', expires_in: 300 };
    return (mutation.token ?? same)(of({ ...token, ...(id_token !== undefined && { id_token }) }));
  }

  private async idToken(nonce: string | undefined): Promise<string | undefined> {
    const { mutation } = this;
    const claims = mutation.claims?.(this.claims(nonce)) ?? this.claims(nonce);
    const header = mutation.header?.({}) ?? {};
    const token = mutation.signIdToken ? await mutation.signIdToken(claims, this) : await this.sign(claims, header);
    return mutation.idToken ? mutation.idToken(token) : token;
  }
}
