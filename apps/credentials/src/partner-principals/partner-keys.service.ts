import { Injectable } from '@nestjs/common';
import { assertCanGrant, type UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { PARTNER_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintPartnerKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { KeyLimitsRepository } from '../key-limits/key-limits.repository.js';
import type { CreatePartnerKeyDto } from './dto/create-partner-key.dto.js';
import type { CreatedPartnerKeyDto, RevokedPartnerKeyDto } from './dto/partner-principal.dto.js';
import type { RotatePartnerKeyDto } from './dto/rotate-partner-key.dto.js';
import type { PartnerKey } from './partner-key.entity.js';
import { PartnerKeysRepository } from './partner-keys.repository.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';
import {
  InvalidExpiry,
  PartnerKeyExpired,
  PartnerKeyRevoked,
  PrincipalDisabled,
  PrincipalExpired,
} from './partner-principal.errors.js';
import { partnerKeysChanged, partnerPrincipalResource } from './partner-principal.mapper.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';

const DEFAULT_RATE_LIMIT = 600; // requests per hour
const PARTNER_KEY_PREFIX_LENGTH = 18;

/** Issues, rotates and revokes the keys of partner principals. A key is shown once and stored as a hash. */
@Injectable()
export class PartnerKeysService {
  constructor(
    private readonly principals: PartnerPrincipalsRepository,
    private readonly keys: PartnerKeysRepository,
    private readonly limits: KeyLimitsRepository,
    private readonly tenants: TenantDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /** @throws InvalidExpiry, NotFoundError, PrincipalDisabled, PrincipalExpired, PermissionNotDelegable, KeyLimitExceeded */
  issue(caller: UserCaller, principalId: string, dto: CreatePartnerKeyDto): Promise<CreatedPartnerKeyDto> {
    const { name, rateLimit = DEFAULT_RATE_LIMIT, expiresAt = null } = dto;
    this.assertInFuture(expiresAt);
    const minted = mint();
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.principals.lock(tx, principalId);
      this.assertUsable(principal);
      assertCanGrant(caller, principal.scopes, PARTNER_SCOPES);
      await this.limits.assertBelowLimit(tx, 'partnerKey', principalId);
      const { id: keyId } = await this.keys.create(tx, {
        ...ownerOf(principal, caller),
        ...minted.stored,
        name,
        expiresAt,
        rateLimit,
      });
      const { keyPrefix, keyHash } = minted.stored;
      const details = { keyId, keyPrefix };
      await this.audit.record(
        tx,
        caller,
        'partner_service_principal_key.issue',
        partnerPrincipalResource(principal),
        details,
      );
      await this.outbox.publish(
        tx,
        partnerKeysChanged([{ ...ownerOf(principal, caller), id: keyId, keyHash }], 'created'),
      );
      return { keyId, key: minted.key, keyPrefix };
    });
  }

  /**
   * Revokes a key and issues a new one. The new key has every scope of the principal, so the caller needs the same
   * permissions as for issuing one.
   * @throws InvalidExpiry, NotFoundError, PrincipalDisabled, PrincipalExpired, PartnerKeyRevoked, PartnerKeyExpired,
   *   PermissionNotDelegable
   */
  rotate(
    caller: UserCaller,
    principalId: string,
    keyId: string,
    dto: RotatePartnerKeyDto,
  ): Promise<CreatedPartnerKeyDto> {
    this.assertInFuture(dto.expiresAt);
    const minted = mint();
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.principals.lock(tx, principalId);
      const old = await this.keys.lock(tx, principalId, keyId);
      this.assertUsable(principal);
      this.assertRotatable(old);
      assertCanGrant(caller, principal.scopes, PARTNER_SCOPES);
      await this.keys.revoke(tx, old.id);
      const { id } = await this.keys.create(tx, {
        ...ownerOf(principal, caller),
        ...minted.stored,
        name: dto.name ?? old.name,
        expiresAt: dto.expiresAt === undefined ? old.expiresAt : dto.expiresAt,
        rateLimit: dto.rateLimit ?? old.rateLimit,
        rotatedFromId: old.id,
      });
      const { keyPrefix, keyHash } = minted.stored;
      const details = { keyId: id, keyPrefix, rotatedFromId: old.id, rotatedFromPrefix: old.keyPrefix };
      await this.audit.record(
        tx,
        caller,
        'partner_service_principal_key.rotate',
        partnerPrincipalResource(principal),
        details,
      );
      await this.outbox.publish(tx, [
        ...partnerKeysChanged([old], 'rotated'),
        ...partnerKeysChanged([{ ...ownerOf(principal, caller), id, keyHash }], 'created'),
      ]);
      return { keyId: id, key: minted.key, keyPrefix };
    });
  }

  /** Revokes a key permanently; revoking it again succeeds. @throws NotFoundError */
  revoke(caller: UserCaller, principalId: string, keyId: string): Promise<RevokedPartnerKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.principals.lock(tx, principalId);
      const row = await this.keys.lock(tx, principalId, keyId);
      if (row.status === 'revoked') return { success: true, alreadyRevoked: true };
      await this.keys.revoke(tx, keyId);
      const details = { keyId, keyPrefix: row.keyPrefix };
      await this.audit.record(
        tx,
        caller,
        'partner_service_principal_key.revoke',
        partnerPrincipalResource(principal),
        details,
      );
      await this.outbox.publish(tx, partnerKeysChanged([row], 'revoked'));
      return { success: true, alreadyRevoked: false };
    });
  }

  private assertInFuture(expiresAt: Date | null | undefined): void {
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
  }

  private assertUsable(principal: PartnerPrincipal): void {
    if (principal.status === 'disabled') throw new PrincipalDisabled();
    if (principal.expiresAt && principal.expiresAt <= this.clock.now()) throw new PrincipalExpired();
  }

  private assertRotatable(key: PartnerKey): void {
    if (key.status === 'revoked') throw new PartnerKeyRevoked();
    if (key.expiresAt && key.expiresAt <= this.clock.now()) throw new PartnerKeyExpired();
  }
}

function ownerOf({ id, partnerId }: PartnerPrincipal, { userId }: UserCaller) {
  return { principalId: id, partnerId, createdBy: userId };
}

/** Creates a key and the part of it that is stored. */
function mint() {
  const { key, keyHash } = mintPartnerKey();
  return { key, stored: { keyHash, keyPrefix: key.slice(0, PARTNER_KEY_PREFIX_LENGTH) } };
}
