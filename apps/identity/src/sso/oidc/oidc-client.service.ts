import { Injectable } from '@nestjs/common';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet, type JWTPayload } from 'jose';
import * as oidc from 'openid-client';
import { OutboundFailed, OutboundTimeout, UnsafeAddress } from '@rmm/outbound';
import type { ProviderMetadata } from '../sso-provider.entity.js';
import { InvalidProviderConfiguration, LogoutTokenInvalid, OidcDiscoveryFailed, SsoRefused } from '../sso.errors.js';
import { OidcTransport } from './oidc-transport.service.js';

/** Signature algorithms with a public key; never `none` or HMAC with the client secret. */
const ALGORITHM = /^(RS|ES|PS)(256|384|512)$/;
/** JWS compact serialization. The library also takes padding and white space, so that one token has many texts. */
const COMPACT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;
const MAX_ENDPOINT = 2_048;
const CLOCK_TOLERANCE_SECONDS = 30;
const BACKCHANNEL_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** A logout token is sent at once; an older one is a replay. */
const LOGOUT_TOKEN_MAX_AGE = '5m';
/** The user of a reauthentication signed in at the provider within these seconds. */
export const REAUTH_MAX_AGE_SECONDS = 300;

const MAX_CACHED = 1_000;
type JwksCache = NonNullable<ReturnType<typeof oidc.getJwksCache>>;

/** The settings of a provider that its calls need. */
export interface OidcProvider {
  id: string;
  configVersion: number;
  issuer: string;
  clientId: string;
  clientSecret: string;
  preset: string | null;
  metadata: ProviderMetadata;
}

export interface AuthorizationRequest {
  redirectUri: string;
  scopes: string;
  state: string;
  nonce: string;
  verifier: string;
  /** The user has to sign in at the provider, also when it has a session there. */
  isReauth: boolean;
}

export interface ProviderClaims {
  subject: string;
  /** Claims of userinfo, overridden by those of the ID token. */
  claims: Readonly<Record<string, unknown>>;
  /** Sources of `email_verified`: the ID token and userinfo. */
  emailVerified: readonly unknown[];
  amr: readonly string[];
  sid: string | null;
}

/** OpenID Connect with openid-client: discovery, authorization requests, code exchange, logout. @see docs/reference/sso.md */
@Injectable()
export class OidcClient {
  /** Keys of providers, by provider and version of its settings; openid-client decides when they are read again. */
  private readonly keys = new Map<string, JwksCache>();

  constructor(private readonly transport: OidcTransport) {}

  /**
   * Reads the metadata of an issuer.
   * @throws OidcDiscoveryFailed with a sentence for the administrator
   */
  async discover(issuer: string): Promise<ProviderMetadata> {
    try {
      const config = await oidc.discovery(new URL(issuer), 'discovery', undefined, oidc.None(), {
        [oidc.customFetch]: this.transport.openFetch(),
        execute: [oidc.allowInsecureRequests],
      });
      const found = config.serverMetadata();
      // openid-client tolerates a tenant placeholder of Entra ID; an issuer is compared exactly here.
      if (found.issuer !== issuer) throw new OidcDiscoveryFailed('The issuer of the metadata is another one');
      const metadata = toMetadata(found);
      for (const endpoint of endpointsOf(metadata)) await this.transport.assertAllowed(endpoint);
      return metadata;
    } catch (error) {
      if (error instanceof OidcDiscoveryFailed) throw error;
      throw new OidcDiscoveryFailed(discoveryFailure(error), { cause: error });
    }
  }

  /** Returns the URL to send the browser to. @throws InvalidProviderConfiguration when it may not be called */
  async authorizationUrl(provider: OidcProvider, request: AuthorizationRequest): Promise<URL> {
    try {
      await this.transport.assertAllowed(provider.metadata.authorizationEndpoint);
    } catch (cause) {
      throw new InvalidProviderConfiguration(undefined, { cause });
    }
    return oidc.buildAuthorizationUrl(this.configure(provider), {
      redirect_uri: request.redirectUri,
      scope: request.scopes,
      state: request.state,
      nonce: request.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(request.verifier),
      code_challenge_method: 'S256',
      ...(request.isReauth && { prompt: 'login', max_age: String(REAUTH_MAX_AGE_SECONDS) }),
    });
  }

  /**
   * Exchanges the code of an authorization response and verifies ID token and userinfo. No transaction may be open.
   * @throws SsoRefused
   */
  async finish(
    provider: OidcProvider,
    response: URLSearchParams,
    { redirectUri, state, nonce, verifier, isReauth }: Omit<AuthorizationRequest, 'scopes'>,
  ): Promise<ProviderClaims> {
    assertIssuer(provider, response);
    if (response.has('error')) throw new SsoRefused('sso_error', 'the provider refused the login');
    if (!response.get('code')) throw new SsoRefused('invalid_callback', 'no code');
    const config = this.configure(provider);
    try {
      const currentUrl = new URL(redirectUri);
      currentUrl.search = response.toString();
      const tokens = await oidc.authorizationCodeGrant(config, currentUrl, {
        ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
        ...(isReauth && { maxAge: REAUTH_MAX_AGE_SECONDS }),
      });
      const idToken = tokens.claims();
      if (!idToken || tokens.id_token === undefined) throw new SsoRefused('sso_no_id_token');
      if (!COMPACT.test(tokens.id_token)) throw new SsoRefused('sso_provider_unverified', 'serialization');
      // The metadata lists accepted algorithms only; this holds when the provider changes them.
      if (!ALGORITHM.test(decodeProtectedHeader(tokens.id_token).alg ?? '')) {
        throw new SsoRefused('sso_provider_unverified', 'signature algorithm');
      }
      if (!idToken.sub || idToken.sub.length > 255) throw new SsoRefused('sso_no_subject');
      const userInfo =
        provider.metadata.userInfoEndpoint === null
          ? {}
          : await oidc.fetchUserInfo(config, tokens.access_token, idToken.sub);
      return toClaims(idToken, userInfo);
    } catch (error) {
      throw error instanceof SsoRefused ? error : refusalOf(error);
    } finally {
      this.rememberKeys(provider, config);
    }
  }

  /** Returns the URL that ends the session at the provider; null when it has none. */
  endSessionUrl(provider: OidcProvider, postLogoutRedirectUri: string): URL | null {
    if (provider.metadata.endSessionEndpoint === null) return null;
    return oidc.buildEndSessionUrl(this.configure(provider), { post_logout_redirect_uri: postLogoutRedirectUri });
  }

  /**
   * Verifies a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6).
   * @throws LogoutTokenInvalid
   */
  async verifyLogoutToken(
    provider: OidcProvider,
    token: string,
  ): Promise<{ subject?: string; sid?: string; jti: string }> {
    if (!COMPACT.test(token)) throw new LogoutTokenInvalid();
    try {
      const response = await this.transport.openFetch()(provider.metadata.jwksUri, JWKS_REQUEST);
      if (response.status !== 200) throw new Error('the keys of the provider could not be read');
      const keys = createLocalJWKSet((await response.json()) as JSONWebKeySet);
      const { payload } = await jwtVerify(token, keys, {
        issuer: provider.issuer,
        audience: provider.clientId,
        algorithms: provider.metadata.signingAlgorithms,
        maxTokenAge: LOGOUT_TOKEN_MAX_AGE,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['iat', 'jti', 'events'],
      });
      return toLogout(payload);
    } catch (error) {
      if (error instanceof LogoutTokenInvalid) throw error;
      throw new LogoutTokenInvalid(undefined, { cause: error });
    }
  }

  private configure(provider: OidcProvider): oidc.Configuration {
    const { metadata, issuer, clientId, clientSecret } = provider;
    const config = new oidc.Configuration(
      {
        issuer,
        authorization_endpoint: metadata.authorizationEndpoint,
        token_endpoint: metadata.tokenEndpoint,
        jwks_uri: metadata.jwksUri,
        ...(metadata.userInfoEndpoint !== null && { userinfo_endpoint: metadata.userInfoEndpoint }),
        ...(metadata.endSessionEndpoint !== null && { end_session_endpoint: metadata.endSessionEndpoint }),
        id_token_signing_alg_values_supported: metadata.signingAlgorithms,
        authorization_response_iss_parameter_supported: metadata.namesIssuer,
      },
      clientId,
      { [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      authenticationOf(provider)(clientSecret),
    );
    config[oidc.customFetch] = this.transport.openFetch();
    oidc.allowInsecureRequests(config); // libs/outbound decides about http
    // Verifies the signature of the ID token although it came from the token endpoint.
    oidc.enableNonRepudiationChecks(config);
    const known = this.keys.get(keyOf(provider));
    if (known) oidc.setJwksCache(config, structuredClone(known));
    return config;
  }

  private rememberKeys(provider: OidcProvider, config: oidc.Configuration): void {
    const keys = oidc.getJwksCache(config);
    if (!keys) return;
    this.keys.delete(keyOf(provider));
    this.keys.set(keyOf(provider), keys);
    const [oldest] = this.keys.keys();
    if (this.keys.size > MAX_CACHED && oldest !== undefined) this.keys.delete(oldest);
  }
}

const JWKS_REQUEST: Parameters<oidc.CustomFetch>[1] = {
  method: 'GET',
  headers: { accept: 'application/json, application/jwk-set+json' },
  body: undefined,
  redirect: 'manual',
};

const keyOf = ({ id, configVersion }: OidcProvider): string => `${id}:${configVersion}`;

function authenticationOf({ preset, metadata: { tokenAuthMethods } }: OidcProvider) {
  const isBasic = tokenAuthMethods === null || tokenAuthMethods.includes('client_secret_basic');
  // New applications of Auth0 accept the secret in the body only, whatever its metadata lists.
  return isBasic && preset !== 'auth0' ? oidc.ClientSecretBasic : oidc.ClientSecretPost;
}

function toMetadata(found: Readonly<oidc.ServerMetadata>): ProviderMetadata {
  const { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint, end_session_endpoint } = found;
  if (!authorization_endpoint || !token_endpoint || !jwks_uri) {
    throw new OidcDiscoveryFailed('The metadata names no authorization, token or key endpoint');
  }
  const offered = found.id_token_signing_alg_values_supported ?? ['RS256'];
  const signingAlgorithms = offered.filter((algorithm) => ALGORITHM.test(algorithm));
  if (signingAlgorithms.length === 0) {
    throw new OidcDiscoveryFailed('The provider offers no ID tokens signed with RS, ES or PS algorithms');
  }
  return {
    authorizationEndpoint: authorization_endpoint,
    tokenEndpoint: token_endpoint,
    jwksUri: jwks_uri,
    userInfoEndpoint: userinfo_endpoint ?? null,
    endSessionEndpoint: end_session_endpoint ?? null,
    signingAlgorithms,
    tokenAuthMethods: found.token_endpoint_auth_methods_supported ?? null,
    namesIssuer: found.authorization_response_iss_parameter_supported === true,
  };
}

function endpointsOf(metadata: ProviderMetadata): string[] {
  const { authorizationEndpoint, tokenEndpoint, jwksUri, userInfoEndpoint, endSessionEndpoint } = metadata;
  const endpoints = [authorizationEndpoint, tokenEndpoint, jwksUri, userInfoEndpoint, endSessionEndpoint].filter(
    (endpoint) => endpoint !== null,
  );
  if (endpoints.some((endpoint) => typeof endpoint !== 'string' || endpoint.length > MAX_ENDPOINT)) {
    throw new OidcDiscoveryFailed('An endpoint of the metadata is not a URL of at most 2,048 characters');
  }
  return endpoints;
}

/** Returns a sentence for the administrator; what a library throws may contain addresses. */
function discoveryFailure(error: unknown): string {
  const cause = rootOf(
    error,
    (one) => one instanceof UnsafeAddress || one instanceof OutboundFailed || one instanceof OutboundTimeout,
  );
  if (cause instanceof UnsafeAddress) return `The provider may not be called: ${cause.message}`;
  if (cause instanceof OutboundFailed || cause instanceof OutboundTimeout)
    return `The provider did not respond: ${cause.message}`;
  return 'The issuer has no valid OpenID Connect metadata';
}

/** An authorization response of another provider is refused before its code is sent anywhere (RFC 9207). */
function assertIssuer({ issuer, metadata }: OidcProvider, response: URLSearchParams): void {
  const named = response.getAll('iss');
  if (named.length === 0 && !metadata.namesIssuer) return;
  if (named.length !== 1 || named[0] !== issuer) throw new SsoRefused('invalid_callback', 'another issuer');
}

/** Codes of openid-client for an ID token that does not verify. */
const UNVERIFIED: readonly string[] = [
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_PARSE_ERROR',
  'OAUTH_UNSUPPORTED_OPERATION',
  'OAUTH_MISSING_SERVER_METADATA',
];

function refusalOf(error: unknown): SsoRefused {
  const options = { cause: error };
  const unreachable = rootOf(
    error,
    (one) => one instanceof UnsafeAddress || one instanceof OutboundFailed || one instanceof OutboundTimeout,
  );
  if (unreachable instanceof UnsafeAddress) return new SsoRefused('invalid_provider_configuration', 'address', options);
  if (unreachable) return new SsoRefused('sso_error', 'the provider did not respond', options);
  const { code } = error as { code?: string };
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
    return new SsoRefused('sso_subject_mismatch', undefined, options);
  const missing = rootOf(error, (one) => isTokenResponseWithoutIdToken(one));
  if (missing) return new SsoRefused('sso_no_id_token', undefined, options);
  if (code !== undefined && UNVERIFIED.includes(code)) return new SsoRefused('sso_provider_unverified', code, options);
  return new SsoRefused('sso_error', code, options);
}

function isTokenResponseWithoutIdToken(error: unknown): boolean {
  const body = (error as { cause?: { body?: Record<string, unknown> } }).cause?.body;
  return typeof body === 'object' && 'access_token' in body && typeof body.id_token !== 'string';
}

/** Returns the first error of the chain of causes that matches. */
function rootOf(error: unknown, matches: (one: unknown) => boolean): unknown {
  for (let one = error, depth = 0; one instanceof Error && depth < 10; one = one.cause, depth += 1) {
    if (matches(one)) return one;
  }
  return null;
}

function toClaims(idToken: oidc.IDToken, userInfo: Record<string, unknown>): ProviderClaims {
  const { amr, sid } = idToken as { amr?: unknown; sid?: unknown };
  return {
    subject: idToken.sub,
    claims: { ...userInfo, ...idToken },
    emailVerified: [idToken.email_verified, userInfo.email_verified],
    amr: Array.isArray(amr) ? amr.filter((method) => typeof method === 'string') : [],
    sid: typeof sid === 'string' && sid.length <= 255 ? sid : null,
  };
}

function toLogout({ sub, sid, jti = '', events, nonce }: JWTPayload): { subject?: string; sid?: string; jti: string } {
  const isLogout = typeof events === 'object' && events !== null && BACKCHANNEL_EVENT in events;
  const session = typeof sid === 'string' ? sid : undefined;
  if (!isLogout || nonce !== undefined || (sub === undefined && session === undefined)) throw new LogoutTokenInvalid();
  return { ...(sub !== undefined && { subject: sub }), ...(session !== undefined && { sid: session }), jti };
}
