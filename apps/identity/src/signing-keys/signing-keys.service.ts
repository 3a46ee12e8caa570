import { createPublicKey, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import type { VerificationKeys } from '@rmm/access';
import { KeyRing } from '@rmm/secrets';
import { Clock, Logger, UnavailableError } from '@rmm/service-kit';
import { importJWK, type CryptoKey, type JWK } from 'jose';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { JwksDto, PublicJwkDto } from './jwks.dto.js';
import { ALGORITHM, newSigningKey, publicPart, signingKeySealContext } from './new-signing-key.js';
import { SigningKeysRepository, type StoredSigningKey } from './signing-keys.repository.js';

const POLL_MS = 5_000;
/** Unknown `kid`s make a replica look at the database at most this often, whoever sends them; meanwhile they wait. */
const LOOK_AGAIN_AFTER_MS = 500;
const ANNOUNCE_EVERY_MS = 3_600_000;

interface ActiveKey {
  kid: string;
  key: CryptoKey;
}

/**
 * The ES256 keys of access tokens: those of JWT_SIGNING_KEYRING, else some made here and kept sealed in the database.
 * Replicas follow the database while they run, so a new key takes over without a restart and every replica knows the
 * keys of all others. A retired key stays listed for a day, so that a rotated key logs nobody out.
 */
@Injectable()
export class SigningKeys implements VerificationKeys, OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private active: ActiveKey | null = null;
  private published: PublicJwkDto[] = [];
  private verification = new Map<string, KeyObject>();
  private readAtMs = -Infinity;
  private announcedAtMs = -Infinity;
  private reading: Promise<void> = Promise.resolve();
  private looking?: Promise<void>;
  private timer?: NodeJS.Timeout;

  constructor(
    private readonly repository: SigningKeysRepository,
    private readonly keyRing: KeyRing,
    private readonly clock: Clock,
    private readonly logger: Logger,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    if (this.config.signing) await this.useConfigured(this.config.signing);
    else if (!(await this.repository.listUsable()).some(canSign)) {
      await this.repository.insertFirst(await newSigningKey(this.keyRing));
    }
    await this.reload();
    if (!this.active) throw new Error('No signing key could be made');
  }

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      this.reload().catch((err: unknown) => this.logger.warn({ err }, 'The signing keys could not be read again'));
    }, POLL_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    clearInterval(this.timer);
    await this.reading.catch(() => undefined);
  }

  /** The key that signs now. */
  get signing(): ActiveKey {
    if (!this.active) throw new Error('The signing keys are not loaded yet');
    return this.active;
  }

  /** Public keys for the JWKS, the active one first. */
  get jwks(): JwksDto {
    return { keys: this.published };
  }

  /** @throws UnavailableError when an unknown key cannot be looked up */
  async find(kid: string): Promise<KeyObject | null> {
    const known = this.verification.get(kid);
    if (known) return known;
    try {
      await (this.looking ??= this.lookAgain());
    } catch (cause) {
      throw new UnavailableError(undefined, { cause });
    }
    return this.verification.get(kid) ?? null;
  }

  /** Reads the keys of the fleet again, one reading after the other: an older one never overwrites a newer. */
  reload(): Promise<void> {
    return (this.reading = this.reading.catch(() => undefined).then(() => this.read()));
  }

  /** One look for all who wait, begun after the last of them came. */
  private async lookAgain(): Promise<void> {
    await sleep(Math.max(0, this.readAtMs + LOOK_AGAIN_AFTER_MS - this.clock.nowMs()), undefined, { ref: false });
    this.looking = undefined;
    await this.reload();
  }

  private async useConfigured({ keys, activeKid }: NonNullable<IdentityConfig['signing']>): Promise<void> {
    const jwk = keys.find(({ kid }) => kid === activeKid) as JWK;
    this.active = { kid: activeKid, key: (await importJWK(jwk, ALGORITHM)) as CryptoKey };
    await this.repository.retireAll();
  }

  private async read(): Promise<void> {
    this.readAtMs = this.clock.nowMs();
    const configured = this.configuredKeys();
    if (configured.length > 0 && this.readAtMs - this.announcedAtMs > ANNOUNCE_EVERY_MS) {
      await this.repository.announce(configured);
      this.announcedAtMs = this.readAtMs;
    }
    const stored = await this.repository.listUsable();
    if (configured.length === 0) await this.follow(stored);
    const ours = new Set(configured.map(({ kid }) => kid));
    this.publish([...configured, ...stored.map(({ publicJwk }) => publicJwk).filter(({ kid }) => !ours.has(kid))]);
  }

  /** Of the configuration, the active one first. */
  private configuredKeys(): PublicJwkDto[] {
    const { keys = [], activeKid } = this.config.signing ?? {};
    const ordered = [...keys].sort((a, b) => Number(b.kid === activeKid) - Number(a.kid === activeKid));
    return ordered.map((key) => publicPart(key));
  }

  /** Signs with the key whose turn it is. While there is none, the last one goes on: others do the signing by now. */
  private async follow(stored: readonly StoredSigningKey[]): Promise<void> {
    const next = stored.find(canSign);
    if (!next || next.kid === this.active?.kid) return;
    const jwk = JSON.parse(this.keyRing.open(next.privateJwkSealed, signingKeySealContext(next.kid))) as JWK;
    this.active = { kid: next.kid, key: (await importJWK(jwk, ALGORITHM)) as CryptoKey };
  }

  private publish(published: PublicJwkDto[]): void {
    this.published = published;
    this.verification = new Map(
      published.map(({ kid, kty, crv, x, y }) => [
        kid,
        this.verification.get(kid) ?? createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' }),
      ]),
    );
  }
}

const canSign = ({ maySign, privateJwkSealed }: StoredSigningKey): boolean => maySign && privateJwkSealed !== '';
