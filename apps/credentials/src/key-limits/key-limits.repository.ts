import { Injectable } from '@nestjs/common';
import type { TenantTransaction } from '@rmm/persistence';
import { KeyLimitExceeded } from './key-limit.errors.js';

/** The most keys and principals of one owner, and the rows that count. @see docs/reference/keys.md */
const LIMITS = {
  /** Counts per organization, keys of its service principals included. */
  apiKey: {
    max: 200,
    rows: `api_key WHERE org_id = :ownerId AND status = 'active' AND (expires_at IS NULL OR expires_at > now())`,
  },
  /** Counts per organization. Expired and exhausted keys count until they are deleted. */
  enrollmentKey: { max: 1_000, rows: 'enrollment_key WHERE org_id = :ownerId' },
  /** Counts per organization. */
  servicePrincipal: { max: 100, rows: `service_principal WHERE org_id = :ownerId AND status = 'active'` },
  /** Counts per partner. */
  partnerPrincipal: { max: 100, rows: `partner_principal WHERE partner_id = :ownerId AND status = 'active'` },
  /** Counts per partner principal. Expired keys count until they are revoked. */
  partnerKey: { max: 20, rows: `partner_principal_key WHERE principal_id = :ownerId AND status = 'active'` },
} as const;

export type LimitedKind = keyof typeof LIMITS;

/** Limits the number of keys. Counts at most as many rows as the limit, under a lock of the owner. */
@Injectable()
export class KeyLimitsRepository {
  /**
   * Checks that the owner may have one more. Transactions that add to the same owner wait for each other, so that the
   * count includes what they added.
   * @throws KeyLimitExceeded
   */
  async assertBelowLimit(tx: TenantTransaction, kind: LimitedKind, ownerId: string): Promise<void> {
    const { max, rows } = LIMITS[kind];
    await tx.query('SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))', {
      lock: `rmm.credentials.${kind}.${ownerId}`,
    });
    const [{ total }] = await tx.query<{ total: number }>(
      `SELECT count(*)::integer AS total FROM (SELECT 1 FROM ${rows} LIMIT :max) counted`,
      { ownerId, max },
    );
    if (total >= max) throw new KeyLimitExceeded(max);
  }
}
