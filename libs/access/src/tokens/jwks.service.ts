import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { type Clock, UnavailableError } from '@rmm/service-kit';
import type { VerificationKeys } from '../access.tokens.js';

/** An unknown `kid` makes us look again at most this often. @see CONTRACT.md 2.1 */
const REFETCH_AFTER_MS = 30_000;
/** A list older than this is read again in the background, so that a withdrawn key goes. */
const MAX_AGE_MS = 300_000;
const RETRY_AFTER_FAILURE_MS = 1_000;
const FETCH_TIMEOUT_MS = 5_000;
const MAX_BODY_CHARACTERS = 64 * 1024;

type Fetch = (url: string, init: { signal: AbortSignal; redirect: 'error' }) => Promise<Response>;

/** Identity's public keys, read from its JWKS and kept. Retired keys stay as long as identity lists them. */
export class JwksKeys implements VerificationKeys {
  private keys = new Map<string, KeyObject>();
  private fetchedAtMs = -Infinity;
  private failedAtMs = -Infinity;
  private running?: Promise<void>;
  private readonly withdrawn: ((kids: string[]) => void)[] = [];

  constructor(
    private readonly url: string,
    private readonly clock: Clock,
    private readonly fetch: Fetch = globalThis.fetch,
  ) {}

  /** Called with the ids of keys that left the list: what they signed is no longer good. */
  onWithdrawn(listener: (kids: string[]) => void): void {
    this.withdrawn.push(listener);
  }

  async find(kid: string): Promise<KeyObject | null> {
    const known = this.keys.get(kid);
    if (known) {
      if (this.ageMs > MAX_AGE_MS && this.mayRetry) this.refresh().catch(() => undefined);
      return known;
    }
    if (this.ageMs < REFETCH_AFTER_MS) return null;
    if (!this.running && !this.mayRetry) throw new UnavailableError();
    await this.refresh();
    return this.keys.get(kid) ?? null;
  }

  private get ageMs(): number {
    return this.clock.nowMs() - this.fetchedAtMs;
  }

  private get mayRetry(): boolean {
    return this.clock.nowMs() - this.failedAtMs >= RETRY_AFTER_FAILURE_MS;
  }

  private refresh(): Promise<void> {
    this.running ??= this.read()
      .then((keys) => this.replace(keys))
      .catch((cause: unknown) => {
        this.failedAtMs = this.clock.nowMs();
        throw new UnavailableError(undefined, { cause, logDetails: { jwksUrl: this.url } });
      })
      .finally(() => (this.running = undefined));
    return this.running;
  }

  private async read(): Promise<Map<string, KeyObject>> {
    const signal = AbortSignal.timeout(FETCH_TIMEOUT_MS);
    const response = await this.fetch(this.url, { signal, redirect: 'error' });
    if (!response.ok) throw new Error(`JWKS answered ${response.status}`);
    const text = await response.text();
    if (text.length > MAX_BODY_CHARACTERS) throw new Error('JWKS is too large');
    return keysOf(JSON.parse(text));
  }

  private replace(keys: Map<string, KeyObject>): void {
    const gone = [...this.keys.keys()].filter((kid) => !keys.has(kid));
    this.keys = keys;
    this.fetchedAtMs = this.clock.nowMs();
    if (gone.length > 0) this.withdrawn.forEach((listener) => listener(gone));
  }
}

/** The P-256 signature keys of a JWK set, by id; anything else in it is left alone. */
export function keysOf(set: unknown): Map<string, KeyObject> {
  const list = (set as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(list)) throw new Error('not a JWK set');
  const usable = (list as (JsonWebKey & { kid?: unknown; use?: unknown })[]).filter(
    (jwk) => jwk.kty === 'EC' && jwk.crv === 'P-256' && typeof jwk.kid === 'string' && (jwk.use ?? 'sig') === 'sig',
  );
  return new Map(
    usable.map(({ kid, kty, crv, x, y }) => [
      kid as string,
      createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' }),
    ]),
  );
}
