import type { SsoDomainDto } from './dto/sso-domain.dto.js';
import type { SsoDomain } from './sso-domain.entity.js';

const RECORD_PREFIX = '_sso-verification';

/** Returns the name of the TXT record that proves a domain. */
export const recordNameOf = (domain: string): string => `${RECORD_PREFIX}.${domain}`;

export const toDomainDto = ({ id, orgId, domain, txtRecordValue, verifiedAt }: SsoDomain): SsoDomainDto => ({
  ...{ id, orgId, domain, txtRecordValue, txtRecordName: recordNameOf(domain) },
  verifiedAt: verifiedAt?.toISOString() ?? null,
});
