import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { importJWK, SignJWT, type CryptoKey, type JWK } from 'jose';
import { createPublicKey, randomUUID, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VerificationKeys } from '@rmm/access';
import type { AccessScope, RotateSigningKeyReply, WithdrawSigningKeyReply } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import { Clock, Job, NotFoundError, UnavailableError } from '@rmm/service-kit';
import { SYSTEM_CALLER } from '../audit/actors.js';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { TokensDto } from '../sessions/dto/session.dto.js';
import type { JwksDto, PublicJwkDto } from './dto/jwks.dto.js';
import { SigningKeysConfigured } from './signing-key.errors.js';
import { ALGORITHM, createSigningKey, toPublicJwk, signingKeySealContext } from './signing-key.js';
import { SigningKeysRepository, type StoredSigningKey } from './signing-keys.repository.js';

/** Minimum time between two reads of the database for unknown `kid`s; requests wait for the next read. */
const MIN_LOOKUP_INTERVAL_MS = 500;
const PUBLISH_EVERY_MS = 3_600_000;

interface ActiveKey {
  kid: string;
  key: CryptoKey;
}

/** The claims of an access token. @see docs/reference/authentication.md */
export interface AccessTokenClaims {
  sub: string;
  email: string;
  scope: AccessScope;
  partnerId: string | null;
  orgId: string | null;
  roleId: string | null;
  mfa: boolean;
  /** Authentication epoch of the user. */
  aep: number;
  /** MFA epoch of the user. */
  mep: number;
  sid: string;
}

/**
 * Signs access tokens with ES256 and publishes the keys that verify them: those of JWT_SIGNING_KEYRING, else keys that
 * are created here and sealed in the database. Replicas read the database repeatedly, so that a new key signs without a
 * restart and every replica knows the keys of all others. A retired key stays published for a day, so that a rotation
 * ends no session.
 */
@Injectable()
export class SigningKeysService implements VerificationKeys, OnModuleInit {
  private active: ActiveKey | null = null;
  private published: PublicJwkDto[] = [];
  private verification = new Map<string, KeyObject>();
  private readAtMs = -Infinity;
  private publishedAtMs = -Infinity;
  private reading: Promise<void> = Promise.resolve();
  private lookup?: Promise<void>;
  private readonly withdrawalListeners: ((kids: string[]) => void)[] = [];

  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: SigningKeysRepository,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.config.signing) await this.useConfigured(this.config.signing);
    else if (!(await this.repository.listUsable()).some(canSign)) {
      await this.repository.insertFirst(await createSigningKey(this.keyRing));
    }
    await this.reload();
    if (!this.active) throw new Error('No signing key could be created');
  }

  /**
   * Signs an access token.
   * @param notBefore  the database clock when the session was stored; clocks of hosts differ, the token is never older
   */
  async signAccessToken({ sub, ...claims }: AccessTokenClaims, notBefore: Date): Promise<TokensDto> {
    const { kid, key } = this.signing();
    const expiresInSeconds = this.config.accessTokenTtlSeconds;
    const issuedAt = Math.floor(Math.max(this.clock.nowMs(), notBefore.getTime()) / 1000);
    const accessToken = await new SignJWT({ ...claims, type: 'access' })
      .setProtectedHeader({ alg: ALGORITHM, kid })
      .setSubject(sub)
      .setJti(randomUUID())
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + expiresInSeconds)
      .setIssuer(this.config.jwtIssuer)
      .setAudience(this.config.jwtAudience)
      .sign(key);
    return { accessToken, expiresInSeconds };
  }

  /**
   * Publishes a new key, which signs once every verifier can know it. Sessions continue: tokens of the older key stay valid
   * until they expire.
   * @throws SigningKeysConfigured
   */
  async rotate(): Promise<RotateSigningKeyReply> {
    if (this.config.signing) throw new SigningKeysConfigured();
    const key = await createSigningKey(this.keyRing);
    const reply = await this.worker.transaction(async (tx) => {
      const retiring = await this.repository.replaceNewest(tx, key);
      if (!retiring) throw new SigningKeysConfigured();
      const details = { replaces: retiring.kid, signsFrom: retiring.at.toISOString() };
      await this.audit.record(tx, SYSTEM_CALLER, 'signing_key.rotate', { type: 'signing_key', id: key.kid }, details);
      return { kid: key.kid, ...details };
    });
    await this.reload();
    return reply;
  }

  /**
   * Withdraws a key at once: it leaves the JWKS, every service refuses its tokens, and another key signs.
   * @throws NotFoundError; SigningKeysConfigured for the signing key of the configuration
   */
  async withdraw(kid: string): Promise<WithdrawSigningKeyReply> {
    if (this.config.signing?.activeKid === kid) throw new SigningKeysConfigured();
    const successor = this.config.signing ? null : await createSigningKey(this.keyRing);
    await this.worker.transaction(async (tx) => {
      if (!(await this.repository.withdraw(tx, kid, successor))) throw new NotFoundError('Signing key');
      await this.audit.record(tx, SYSTEM_CALLER, 'signing_key.withdraw', { type: 'signing_key', id: kid });
      const address = { aggregateId: kid, partnerId: null, orgId: null };
      const data = { kids: [kid] };
      await this.outbox.publish(tx, { stream: 'broadcast', type: 'access.keys-withdrawn', ...address, data });
    });
    await this.reload();
    return { kid, signs: this.signing().kid };
  }

  /** Adds a listener for the ids of keys that are no longer published. */
  onWithdrawn(listener: (kids: string[]) => void): void {
    this.withdrawalListeners.push(listener);
  }

  /** The public keys, the active one first. */
  get jwks(): JwksDto {
    return { keys: this.published };
  }

  /** Returns the public key of a `kid`. @throws UnavailableError when an unknown key cannot be looked up */
  async find(kid: string): Promise<KeyObject | null> {
    const known = this.verification.get(kid);
    if (known) return known;
    try {
      await (this.lookup ??= this.lookUp());
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
    return this.verification.get(kid) ?? null;
  }

  /**
   * Reads the keys of the fleet again, so that every replica knows a rotation within seconds. Reads run one after the
   * other, so that an older result never replaces a newer one.
   */
  @Job({ name: 'reload-signing-keys', everyMs: 5_000 })
  reload(): Promise<void> {
    return (this.reading = this.reading.catch(() => undefined).then(() => this.read()));
  }

  private signing(): ActiveKey {
    if (!this.active) throw new Error('The signing keys are not loaded yet');
    return this.active;
  }

  /** Runs one read for all waiting requests; it starts after the last of them arrived. */
  private async lookUp(): Promise<void> {
    await sleep(Math.max(0, this.readAtMs + MIN_LOOKUP_INTERVAL_MS - this.clock.nowMs()), undefined, { ref: false });
    this.lookup = undefined;
    await this.reload();
  }

  private async useConfigured({ keys, activeKid }: NonNullable<IdentityConfig['signing']>): Promise<void> {
    const jwk = keys.find(({ kid }) => kid === activeKid) as JWK;
    this.active = { kid: activeKid, key: (await importJWK(jwk, ALGORITHM)) as CryptoKey };
    if ((await this.repository.listWithdrawnKids()).has(activeKid)) {
      throw new Error('JWT_ACTIVE_KID names a key that was withdrawn: add a new key to JWT_SIGNING_KEYRING');
    }
    await this.repository.retireAll();
  }

  private async read(): Promise<void> {
    this.readAtMs = this.clock.nowMs();
    const configured = this.configuredKeys();
    if (configured.length > 0 && this.readAtMs - this.publishedAtMs > PUBLISH_EVERY_MS) {
      await this.repository.publishConfigured(configured);
      this.publishedAtMs = this.readAtMs;
    }
    const stored = await this.repository.listUsable();
    if (configured.length === 0) await this.activate(stored);
    const configuredKids = new Set(configured.map(({ kid }) => kid));
    const withdrawn = configured.length > 0 ? await this.repository.listWithdrawnKids() : new Set<string>();
    this.publish([
      ...configured.filter(({ kid }) => !withdrawn.has(kid)),
      ...stored.map(({ publicJwk }) => publicJwk).filter(({ kid }) => !configuredKids.has(kid)),
    ]);
  }

  /** Returns the keys of the configuration, the active one first. */
  private configuredKeys(): PublicJwkDto[] {
    const { keys = [], activeKid } = this.config.signing ?? {};
    const ordered = [...keys].sort((a, b) => Number(b.kid === activeKid) - Number(a.kid === activeKid));
    return ordered.map((key) => toPublicJwk(key));
  }

  /** Signs with the first usable key; while there is none, keeps the last one: other replicas sign with the configured keys. */
  private async activate(stored: readonly StoredSigningKey[]): Promise<void> {
    const next = stored.find(canSign);
    if (!next || next.kid === this.active?.kid) return;
    const jwk = JSON.parse(this.keyRing.open(next.privateJwkSealed, signingKeySealContext(next.kid))) as JWK;
    this.active = { kid: next.kid, key: (await importJWK(jwk, ALGORITHM)) as CryptoKey };
  }

  private publish(published: PublicJwkDto[]): void {
    const removed = this.published.map(({ kid }) => kid).filter((kid) => !published.some((key) => key.kid === kid));
    this.published = published;
    this.verification = new Map(
      published.map(({ kid, kty, crv, x, y }) => [
        kid,
        this.verification.get(kid) ?? createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' }),
      ]),
    );
    if (removed.length > 0) this.withdrawalListeners.forEach((listener) => listener(removed));
  }
}

const canSign = ({ maySign, privateJwkSealed }: StoredSigningKey): boolean => maySign && privateJwkSealed !== '';
