import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { cidrsContain, parseCidr, type Cidr } from '@rmm/validation';
import type { ApiKeyCaller, PartnerKeyCaller } from '../callers/caller.js';
import { toApiKeyCaller, toPartnerKeyCaller } from './key-caller.mapper.js';

/** A key record prepared for many requests: dates and address ranges parsed once, with the caller it authenticates. */
abstract class Known<Kind extends ResolvedKey, KeyCaller> {
  abstract readonly caller: KeyCaller;
  /** By the monotonic clock of this process; the time left comes from the database. */
  private readonly expiresAtMs: number;
  /** Null when every address is allowed. */
  private readonly cidrs: readonly Cidr[] | null;

  /**
   * @param keyHash  base64, as in the cache
   * @param readAtMs  when the read of the record began, by the monotonic clock
   */
  constructor(
    readonly keyHash: string,
    readonly record: Kind,
    readAtMs: number,
  ) {
    this.expiresAtMs = record.expiresAt === null ? Infinity : readAtMs + (record.expiresInMs ?? 0);
    const cidrs = record.sourceCidrs.map(parseCidr).filter((cidr) => cidr !== null);
    this.cidrs = record.sourceCidrs.length === 0 ? null : cidrs;
  }

  /** Returns true while the key is active and has not expired. */
  isValid(nowMs: number): boolean {
    return this.record.status === 'active' && nowMs < this.expiresAtMs;
  }

  /** Returns true when the key was active when it was read and has expired since. */
  hasExpired(nowMs: number): boolean {
    return this.record.status === 'active' && nowMs >= this.expiresAtMs;
  }

  /** Checks the client address; an unknown address is allowed only when the key has no address ranges. */
  allowsAddress(address: string | undefined): boolean {
    return this.cidrs === null || (address !== undefined && cidrsContain(this.cidrs, address));
  }
}

export class KnownApiKey extends Known<ResolvedApiKey, ApiKeyCaller> {
  readonly kind = 'api_key';
  readonly caller = toApiKeyCaller(this.record);
}

export class KnownPartnerKey extends Known<ResolvedPartnerKey, PartnerKeyCaller> {
  readonly kind = 'partner_key';
  readonly caller = toPartnerKeyCaller(this.record);
}

export type KnownKey = KnownApiKey | KnownPartnerKey;

/** Creates the key for a record. Its kind comes from the record, never from the text of the key. */
export const toKnownKey = (keyHash: string, record: ResolvedKey, readAtMs: number): KnownKey =>
  record.kind === 'api_key'
    ? new KnownApiKey(keyHash, record, readAtMs)
    : new KnownPartnerKey(keyHash, record, readAtMs);
