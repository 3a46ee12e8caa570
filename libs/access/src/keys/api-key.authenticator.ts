import { Injectable } from '@nestjs/common';
import type { ResolvedApiKey } from '@rmm/contracts';
import { type ApiKeyScope, type PartnerScope, scopesAllow } from '@rmm/permissions';
import { clientBucket } from '@rmm/rate-limits';
import { API_KEY_PREFIX, hashKey, PARTNER_KEY_PREFIX } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import {
  ApiKeyNotAcceptedHere,
  ApiKeyScopeRequired,
  InvalidApiKey,
  InvalidPartnerKey,
  KeyRateLimited,
  PartnerKeyRequired,
  PartnerScopeRequired,
} from '../access.errors.js';
import { type AccessRequest, type AccessResponse, clientAddress, presentedKey } from '../callers/access-request.js';
import type { ApiKeyCaller, PartnerKeyCaller } from '../callers/caller.js';
import { FailedAuthenticationThrottle, type CredentialKind } from './failed-authentication-throttle.service.js';
import { KeyRecords } from './key-records.service.js';
import { KeyUsage } from './key-usage.service.js';
import { KeyWindow, type KeyWindowResult, WINDOW_SECONDS } from './key-window.service.js';
import type { KnownKey } from './known-key.js';
import { partnerReadWindow, partnerWriteWindow } from './partner-key-windows.js';
/** `svc_` and 32, or `svc_sp_` and 43 base64url characters. Any other text is no key and needs no look-up. */
const KEY_FORMAT = /^svc_(sp_)?[A-Za-z0-9_-]{32,43}$/;

/** Authenticates requests with `X-API-Key`: key, address, rate limit, scope, in this order. */
@Injectable()
export class ApiKeyAuthenticator {
  constructor(
    private readonly records: KeyRecords,
    private readonly throttle: FailedAuthenticationThrottle,
    private readonly window: KeyWindow,
    private readonly usage: KeyUsage,
    private readonly clock: Clock,
  ) {}

  /**
   * @param scopes  the key needs at least one of them; empty accepts every key
   * @throws InvalidApiKey 401, KeyRateLimited 429, ApiKeyScopeRequired 403, UnavailableError 503
   */
  async authenticateApiKey(
    request: AccessRequest,
    response: AccessResponse,
    scopes: readonly ApiKeyScope[],
  ): Promise<ApiKeyCaller> {
    const known = await this.findValidKey('api_key', request);
    if (known?.kind !== 'api_key') throw new InvalidApiKey();
    const { record, caller } = known;
    const result = await this.window.charge(windowOf(record), record.rateLimit);
    this.applyRateLimit(response, result, 'rate_limited');
    this.usage.count(record);
    request.caller = caller;
    if (!scopesAllow(record.scopes, scopes)) throw new ApiKeyScopeRequired(scopes);
    return caller;
  }

  /**
   * @param scopes  the key needs all of them
   * @param options  `uncharged`: the request does not count in a window of the key, and is allowed when that is used up
   * @throws PartnerKeyRequired, ApiKeyNotAcceptedHere, InvalidPartnerKey 401, KeyRateLimited 429,
   *   PartnerScopeRequired 403, UnavailableError 503
   */
  async authenticatePartnerKey(
    request: AccessRequest,
    response: AccessResponse,
    scopes: readonly PartnerScope[],
    { uncharged = false }: { uncharged?: boolean } = {},
  ): Promise<PartnerKeyCaller> {
    const key = presentedKey(request);
    if (key === null) throw new PartnerKeyRequired();
    if (key.startsWith(API_KEY_PREFIX) && !key.startsWith(PARTNER_KEY_PREFIX)) throw new ApiKeyNotAcceptedHere();
    const known = await this.findValidKey('partner_key', request);
    if (known?.kind !== 'partner_key') throw new InvalidPartnerKey();
    const { record, caller } = known;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const { name, bucket, limit } = isRead ? partnerReadWindow(record) : partnerWriteWindow(record);
    const result = await (uncharged ? this.window.read(bucket, limit) : this.window.charge(bucket, limit));
    this.setPolicyHeaders(response, name, result);
    this.applyRateLimit(response, { ...result, allowed: uncharged || result.allowed }, 'partner_api_rate_limited');
    this.usage.count(record);
    request.caller = caller;
    const missing = scopes.filter((scope) => !record.scopes.includes(scope));
    if (missing.length > 0) throw new PartnerScopeRequired(scopes);
    return caller;
  }

  /** Returns the valid key of a request, or counts a failure for the client address and returns null. */
  private async findValidKey(kind: CredentialKind, request: AccessRequest): Promise<KnownKey | null> {
    const address = clientAddress(request);
    const bucket = clientBucket({ address, headers: request.headers });
    this.throttle.assertNotBlocked(kind, bucket);
    const key = presentedKey(request) ?? '';
    const known = KEY_FORMAT.test(key) ? await this.findRecord(kind, bucket, hashKey(key)) : null;
    if (known?.kind === kind && known.isValid(this.clock.monotonicMs()) && known.allowsAddress(address)) return known;
    await this.throttle.recordFailure(kind, bucket);
    return null;
  }

  private async findRecord(kind: CredentialKind, bucket: string, keyHash: Buffer): Promise<KnownKey | null> {
    return this.records.peek(keyHash) ?? this.throttle.limitLookUps(kind, bucket, () => this.records.find(keyHash));
  }

  /** Sets the headers of draft-ietf-httpapi-ratelimit-headers in addition to `X-RateLimit-*`. */
  private setPolicyHeaders(
    response: AccessResponse,
    name: string,
    { limit, remaining, resetAtSeconds }: KeyWindowResult,
  ): void {
    const seconds = Math.max(0, resetAtSeconds - Math.floor(this.clock.nowMs() / 1_000));
    response.setHeader('RateLimit-Policy', `"${name}";q=${limit};w=${WINDOW_SECONDS}`);
    response.setHeader('RateLimit', `"${name}";r=${remaining};t=${seconds}`);
  }

  /** Sets the rate limit headers before anything is thrown, so that every response to a valid key has them. */
  private applyRateLimit(
    response: AccessResponse,
    { allowed, limit, remaining, resetAtSeconds, retryAfterSeconds }: KeyWindowResult,
    code: 'rate_limited' | 'partner_api_rate_limited',
  ): void {
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', remaining);
    response.setHeader('X-RateLimit-Reset', resetAtSeconds);
    if (!allowed) throw new KeyRateLimited(code, retryAfterSeconds);
  }
}

/** Returns the window of an API key. The keys of a service principal share one, so that rotation does not empty it. */
function windowOf({ keyId, principalId }: ResolvedApiKey): string {
  return principalId === null ? `api:${keyId}` : `api-principal:${principalId}`;
}
