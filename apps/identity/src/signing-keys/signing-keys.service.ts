import { createPublicKey, randomUUID, type KeyObject } from 'node:crypto';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import type { VerificationKeys } from '@rmm/access';
import { KeyRing } from '@rmm/secrets';
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import type { JwksDto, PublicJwkDto } from './jwks.dto.js';
import { SigningKeysRepository, type StoredSigningKey } from './signing-keys.repository.js';

const ALGORITHM = 'ES256';
const sealContext = (kid: string) => `signing_key.private_jwk:${kid}`;

interface ActiveKey {
  kid: string;
  key: CryptoKey;
}

/**
 * The ES256 keys of access tokens: those of JWT_SIGNING_KEYRING, else one made at the first start and kept sealed in
 * the database. A retired key stays listed for a day, so that a rotated key logs nobody out.
 */
@Injectable()
export class SigningKeys implements VerificationKeys, OnModuleInit {
  private active: ActiveKey | null = null;
  private published: PublicJwkDto[] = [];
  private readonly verification = new Map<string, KeyObject>();

  constructor(
    private readonly repository: SigningKeysRepository,
    private readonly keyRing: KeyRing,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    await (this.config.signing ? this.useConfigured(this.config.signing) : this.useStored());
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

  find(kid: string): Promise<KeyObject | null> {
    return Promise.resolve(this.verification.get(kid) ?? null);
  }

  private async useConfigured({ keys, activeKid }: NonNullable<IdentityConfig['signing']>): Promise<void> {
    const ordered = [...keys].sort((a, b) => Number(b.kid === activeKid) - Number(a.kid === activeKid)) as JWK[];
    await this.use(ordered[0]?.kid ?? '', ordered[0] ?? {}, ordered.map(publicPart));
  }

  private async useStored(): Promise<void> {
    let stored = await this.repository.listUsable();
    if (!stored.some(isActive)) {
      await this.makeFirst();
      stored = await this.repository.listUsable();
    }
    const active = stored.find(isActive);
    if (!active) throw new Error('No signing key could be made');
    const privateJwk = JSON.parse(this.keyRing.open(active.privateJwkSealed, sealContext(active.kid))) as JWK;
    await this.use(
      active.kid,
      privateJwk,
      stored.map(({ publicJwk }) => publicJwk),
    );
  }

  private async makeFirst(): Promise<void> {
    const pair = await generateKeyPair(ALGORITHM, { extractable: true });
    const kid = randomUUID();
    const jwk = { ...(await exportJWK(pair.privateKey)), kid };
    const privateJwkSealed = this.keyRing.seal(JSON.stringify(jwk), sealContext(kid));
    await this.repository.insertFirst({ kid, privateJwkSealed, publicJwk: publicPart(jwk) });
  }

  private async use(kid: string, privateJwk: JWK, published: PublicJwkDto[]): Promise<void> {
    this.active = { kid, key: (await importJWK(privateJwk, ALGORITHM)) as CryptoKey };
    this.published = published;
    for (const { kty, crv, x, y, kid: id } of published) {
      this.verification.set(id ?? '', createPublicKey({ key: { kty, crv, x, y }, format: 'jwk' }));
    }
  }
}

const isActive = (key: StoredSigningKey): boolean => key.retiredAt === null;

/** What may be shown: never `d`. Every key here is a whole P-256 key, made so or checked by the configuration. */
const publicPart = ({ kty, crv, x, y, kid }: JWK): PublicJwkDto =>
  ({ kty, crv, x, y, kid, alg: ALGORITHM, use: 'sig' }) as PublicJwkDto;
