/** Writes of a partner principal have their own window of at most this size. */
const PARTNER_WRITES_PER_HOUR = 120;

/** A window of a partner key, for `KeyWindow`. */
export interface PartnerKeyWindow {
  /** Name in the header `RateLimit-Policy`. */
  name: 'reads' | 'writes';
  bucket: string;
  /** Requests in any hour. */
  limit: number;
}

interface LimitedPartnerKey {
  principalId: string;
  keyId: string;
  rateLimit: number;
}

/** Returns the window of the reads of a partner key. */
export function partnerReadWindow({ principalId, keyId, rateLimit }: LimitedPartnerKey): PartnerKeyWindow {
  return { name: 'reads', bucket: `partner:${principalId}:${keyId}`, limit: rateLimit };
}

/** Returns the window of the writes of a partner key, which the keys of a principal share. */
export function partnerWriteWindow({ principalId, rateLimit }: LimitedPartnerKey): PartnerKeyWindow {
  const limit = Math.min(rateLimit, PARTNER_WRITES_PER_HOUR);
  return { name: 'writes', bucket: `partner-writes:${principalId}`, limit };
}
