import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { PARTNER_SCOPES } from '@rmm/permissions';
import { TenantDatabase } from '@rmm/persistence';
import { mintPartnerKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { assertMayGrant } from '../scope-checks.js';
import type { CreatePartnerKeyDto } from './dto/create-partner-key.dto.js';
import type { CreatedPartnerKeyDto, RevokedPartnerKeyDto } from './dto/partner-principal.dto.js';
import type { RotatePartnerKeyDto } from './dto/rotate-partner-key.dto.js';
import { partnerKeysChanged } from './partner-keys-changed.js';
import {
  InvalidExpiry,
  PartnerKeyExpired,
  PartnerKeyRevoked,
  PrincipalDisabled,
  PrincipalExpired,
} from './partner-principal.errors.js';
import type { PartnerPrincipalKey } from './partner-principal-key.entity.js';
import type { PartnerPrincipal } from './partner-principal.entity.js';
import { PartnerPrincipalsRepository } from './partner-principals.repository.js';
import { principalResource } from './principal-resource.js';

const DEFAULT_RATE_LIMIT = 600; // requests per hour
const PARTNER_KEY_PREFIX_LENGTH = 18; // CONTRACT.md 4.4.5

/** The keys of partner principals: shown once, stored as hashes. */
@Injectable()
export class PartnerKeysService {
  constructor(
    private readonly repository: PartnerPrincipalsRepository,
    private readonly tenants: TenantDatabase,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  /** @throws InvalidExpiry, NotFoundError, PrincipalDisabled, PrincipalExpired, PermissionNotDelegable */
  issue(caller: UserCaller, principalId: string, dto: CreatePartnerKeyDto): Promise<CreatedPartnerKeyDto> {
    const { name, rateLimit = DEFAULT_RATE_LIMIT, expiresAt = null } = dto;
    this.assertAhead(expiresAt);
    const minted = mint();
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.lock(tx, principalId);
      this.assertUsable(principal);
      assertMayGrant(caller, principal.scopes, PARTNER_SCOPES);
      const { id: keyId } = await this.repository.insertKey(tx, {
        ...ownedBy(principal, caller),
        ...minted.stored,
        name,
        expiresAt,
        rateLimit,
      });
      const { keyPrefix, keyHash } = minted.stored;
      const details = { keyId, keyPrefix };
      await this.audit.record(tx, caller, 'partner_service_principal_key.issue', principalResource(principal), details);
      await this.outbox.publish(
        tx,
        partnerKeysChanged([{ ...ownedBy(principal, caller), id: keyId, keyHash }], 'created'),
      );
      return { keyId, key: minted.key, keyPrefix };
    });
  }

  /**
   * A new key in place of one that works no longer from then on. Rotating mints a key with every scope of the
   * principal, so the ceiling is that of issuing.
   * @throws InvalidExpiry, NotFoundError, PrincipalDisabled, PrincipalExpired, PartnerKeyRevoked, PartnerKeyExpired,
   *   PermissionNotDelegable
   */
  rotate(
    caller: UserCaller,
    principalId: string,
    keyId: string,
    dto: RotatePartnerKeyDto,
  ): Promise<CreatedPartnerKeyDto> {
    this.assertAhead(dto.expiresAt);
    const minted = mint();
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.lock(tx, principalId);
      const old = await this.repository.lockKey(tx, principalId, keyId);
      this.assertUsable(principal);
      this.assertInForce(old);
      assertMayGrant(caller, principal.scopes, PARTNER_SCOPES);
      await this.repository.revokeKey(tx, old.id);
      const { id } = await this.repository.insertKey(tx, {
        ...ownedBy(principal, caller),
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
        principalResource(principal),
        details,
      );
      await this.outbox.publish(tx, [
        ...partnerKeysChanged([old], 'rotated'),
        ...partnerKeysChanged([{ ...ownedBy(principal, caller), id, keyHash }], 'created'),
      ]);
      return { keyId: id, key: minted.key, keyPrefix };
    });
  }

  /** Ends a key for good; again is no error. @throws NotFoundError */
  revoke(caller: UserCaller, principalId: string, keyId: string): Promise<RevokedPartnerKeyDto> {
    return this.tenants.transaction(caller, async (tx) => {
      const principal = await this.repository.lock(tx, principalId);
      const row = await this.repository.lockKey(tx, principalId, keyId);
      if (row.status === 'revoked') return { success: true, alreadyRevoked: true };
      await this.repository.revokeKey(tx, keyId);
      const details = { keyId, keyPrefix: row.keyPrefix };
      await this.audit.record(
        tx,
        caller,
        'partner_service_principal_key.revoke',
        principalResource(principal),
        details,
      );
      await this.outbox.publish(tx, partnerKeysChanged([row], 'revoked'));
      return { success: true, alreadyRevoked: false };
    });
  }

  private assertAhead(expiresAt: Date | null | undefined): void {
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
  }

  private assertUsable(principal: PartnerPrincipal): void {
    if (principal.status === 'disabled') throw new PrincipalDisabled();
    if (principal.expiresAt && principal.expiresAt <= this.clock.now()) throw new PrincipalExpired();
  }

  private assertInForce(key: PartnerPrincipalKey): void {
    if (key.status === 'revoked') throw new PartnerKeyRevoked();
    if (key.expiresAt && key.expiresAt <= this.clock.now()) throw new PartnerKeyExpired();
  }
}

const ownedBy = ({ id, partnerId }: PartnerPrincipal, { userId }: UserCaller) => ({
  principalId: id,
  partnerId,
  createdBy: userId,
});

/** A fresh key, and apart from it all that is kept of it. */
function mint() {
  const { key, keyHash } = mintPartnerKey();
  return { key, stored: { keyHash, keyPrefix: key.slice(0, PARTNER_KEY_PREFIX_LENGTH) } };
}
