import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { CREDENTIAL_CHANGED, type CredentialChanged } from '@rmm/contracts';
import { AuditTrail, Outbox } from '@rmm/messaging';
import { PARTNER_SCOPES } from '@rmm/permissions';
import { Tenants, type TenantTransaction } from '@rmm/persistence';
import { mintPartnerKey } from '@rmm/secrets';
import { Clock } from '@rmm/service-kit';
import { assertMayGrant } from '../scope-checks.js';
import type { CreatePartnerKeyDto } from './dto/create-partner-key.dto.js';
import type { CreatedPartnerKeyDto } from './dto/partner-principal.dto.js';
import { InvalidExpiry, PrincipalDisabled, PrincipalExpired } from './partner-principal.errors.js';
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
    private readonly tenants: Tenants,
    private readonly audit: AuditTrail,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
  ) {}

  issue(caller: UserCaller, principalId: string, dto: CreatePartnerKeyDto): Promise<CreatedPartnerKeyDto> {
    const { key, keyHash } = mintPartnerKey();
    const expiresAt = dto.expiresAt ?? null;
    if (expiresAt && expiresAt <= this.clock.now()) throw new InvalidExpiry();
    return this.tenants.run(caller, async (tx) => {
      const principal = await this.repository.lock(tx, principalId);
      this.assertUsable(principal);
      assertMayGrant(caller, principal.scopes, PARTNER_SCOPES);
      const row = await this.repository.insertKey(tx, {
        principalId,
        partnerId: principal.partnerId,
        name: dto.name,
        keyPrefix: key.slice(0, PARTNER_KEY_PREFIX_LENGTH),
        keyHash,
        expiresAt,
        rateLimit: dto.rateLimit ?? DEFAULT_RATE_LIMIT,
        createdBy: caller.userId,
      });
      const details = { keyId: row.id, keyPrefix: row.keyPrefix };
      await this.audit.add(tx, caller, 'partner_service_principal_key.issue', principalResource(principal), details);
      await this.announce(tx, row, keyHash, 'created');
      return { keyId: row.id, key, keyPrefix: row.keyPrefix };
    });
  }

  revoke(caller: UserCaller, principalId: string, keyId: string): Promise<{ success: true; alreadyRevoked: boolean }> {
    return this.tenants.run(caller, async (tx) => {
      const principal = await this.repository.lock(tx, principalId);
      const row = await this.repository.lockKey(tx, principalId, keyId);
      if (row.status === 'revoked') return { success: true, alreadyRevoked: true };
      await this.repository.revokeKey(tx, keyId);
      const details = { keyId, keyPrefix: row.keyPrefix };
      await this.audit.add(tx, caller, 'partner_service_principal_key.revoke', principalResource(principal), details);
      await this.announce(tx, row, row.keyHash, 'revoked');
      return { success: true, alreadyRevoked: false };
    });
  }

  private assertUsable(principal: PartnerPrincipal): void {
    if (principal.status === 'disabled') throw new PrincipalDisabled();
    if (principal.expiresAt && principal.expiresAt <= this.clock.now()) throw new PrincipalExpired();
  }

  private announce(
    tx: TenantTransaction,
    row: PartnerPrincipalKey,
    keyHash: Buffer,
    reason: CredentialChanged['reason'],
  ): Promise<void> {
    return this.outbox.add(tx, {
      stream: 'broadcast',
      type: CREDENTIAL_CHANGED,
      aggregateId: row.id,
      partnerId: row.partnerId,
      orgId: null,
      data: {
        kind: 'partner_key',
        keyIds: [row.id],
        keyHashes: [keyHash.toString('hex')],
        reason,
      } satisfies CredentialChanged,
    });
  }
}
