import type { ResolvedPartnerKey } from '@rmm/contracts';
import { scopesAllow } from '@rmm/permissions';
import { API_KEY_PREFIX, hashKey, PARTNER_KEY_PREFIX } from '@rmm/secrets';
import { clientBucket, type Clock } from '@rmm/service-kit';
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
import type { KeyRecords } from './key-records.service.js';
import type { KeyUsage } from './key-usage.service.js';
import type { KeyWindow, WindowVerdict } from './key-window.service.js';
import type { KnownKey } from './known-key.js';
import type { ProbeKind, FailedAuthenticationThrottle } from './failed-authentication-throttle.service.js';

/** Partner writes share a window of their own, this small at most. @see SPEC.md 8 */
const PARTNER_WRITES_PER_HOUR = 120;
/** `svc_` and 32, `svc_sp_` and 43 base64url characters: anything else is no key and needs no look-up. */
const KEY_FORM = /^svc_(sp_)?[A-Za-z0-9_-]{32,43}$/;

/** A machine's request, from `X-API-Key` to a caller. @see SPEC.md 5.3, CONTRACT.md 4.1, 4.4.1 */
export class ApiKeyAuthenticator {
  constructor(
    private readonly records: KeyRecords,
    private readonly probes: FailedAuthenticationThrottle,
    private readonly window: KeyWindow,
    private readonly usage: KeyUsage,
    private readonly clock: Clock,
  ) {}

  /**
   * @param scopes  at least one of these; empty lets any key pass
   * @throws InvalidApiKey 401, KeyRateLimited 429, ApiKeyScopeRequired 403, UnavailableError 503
   */
  async enterWithApiKey(
    request: AccessRequest,
    response: AccessResponse,
    scopes: readonly string[],
  ): Promise<ApiKeyCaller> {
    const known = await this.genuine('api_key', request);
    if (known?.kind !== 'api_key') throw new InvalidApiKey();
    const { record, caller } = known;
    this.admit(response, await this.window.charge(`api:${record.keyId}`, record.rateLimit), 'rate_limited');
    this.usage.count(record);
    request.caller = caller;
    if (!scopesAllow(record.scopes, scopes)) throw new ApiKeyScopeRequired(scopes);
    return caller;
  }

  /**
   * @param scopes  all of these
   * @throws PartnerKeyRequired, ApiKeyNotAcceptedHere, InvalidPartnerKey 401, KeyRateLimited 429,
   *   PartnerScopeRequired 403, UnavailableError 503
   */
  async enterWithPartnerKey(
    request: AccessRequest,
    response: AccessResponse,
    scopes: readonly string[],
  ): Promise<PartnerKeyCaller> {
    const key = presentedKey(request);
    if (key === null) throw new PartnerKeyRequired();
    if (key.startsWith(API_KEY_PREFIX) && !key.startsWith(PARTNER_KEY_PREFIX)) throw new ApiKeyNotAcceptedHere();
    const known = await this.genuine('partner_key', request);
    if (known?.kind !== 'partner_key') throw new InvalidPartnerKey();
    const { record, caller } = known;
    this.admit(response, await this.chargePartner(record, request.method ?? ''), 'partner_api_rate_limited');
    this.usage.count(record);
    request.caller = caller;
    const missing = scopes.filter((scope) => !record.scopes.includes(scope));
    if (missing.length > 0) throw new PartnerScopeRequired(scopes);
    return caller;
  }

  /** The live key behind the presented one, or null after the failure was charged to the address. */
  private async genuine(kind: ProbeKind, request: AccessRequest): Promise<KnownKey | null> {
    const address = clientAddress(request);
    const bucket = clientBucket({ address, headers: request.headers });
    this.probes.assertOpen(kind, bucket);
    const key = presentedKey(request) ?? '';
    const known = KEY_FORM.test(key) ? await this.records.find(hashKey(key)) : null;
    if (known?.kind === kind && known.isInForce(this.clock.nowMs()) && known.isFrom(address)) return known;
    await this.probes.failed(kind, bucket);
    return null;
  }

  private chargePartner({ principalId, keyId, rateLimit }: ResolvedPartnerKey, method: string): Promise<WindowVerdict> {
    return isRead(method)
      ? this.window.charge(`partner:${principalId}:${keyId}`, rateLimit)
      : this.window.charge(`partner-writes:${principalId}`, Math.min(rateLimit, PARTNER_WRITES_PER_HOUR));
  }

  /** Writes the rate headers first, so that every answer to a genuine key carries them. */
  private admit(
    response: AccessResponse,
    { admitted, limit, remaining, resetAtSeconds, retryAfterSeconds }: WindowVerdict,
    code: 'rate_limited' | 'partner_api_rate_limited',
  ): void {
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', remaining);
    response.setHeader('X-RateLimit-Reset', resetAtSeconds);
    if (!admitted) throw new KeyRateLimited(code, retryAfterSeconds);
  }
}

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';
