import type { ResolvedApiKey, ResolvedKey, ResolvedPartnerKey } from '@rmm/contracts';
import { cidrsContain, parseCidr, type Cidr } from '@rmm/service-kit';
import type { ApiKeyCaller, PartnerKeyCaller } from '../callers/caller.js';
import { toApiKeyCaller, toPartnerKeyCaller } from './key-caller.mapper.js';

/** A record made ready for many requests: parsed once, with the caller it stands for. */
abstract class Known<Kind extends ResolvedKey, KeyCaller> {
  abstract readonly caller: KeyCaller;
  private readonly endsAtMs: number;
  /** Null: from anywhere. */
  private readonly cidrs: readonly Cidr[] | null;

  /** @param keyHash  what the cache is indexed by */
  constructor(
    readonly keyHash: string,
    readonly record: Kind,
  ) {
    this.endsAtMs = record.expiresAt === null ? Infinity : Date.parse(record.expiresAt);
    const cidrs = record.sourceCidrs.map(parseCidr).filter((cidr) => cidr !== null);
    this.cidrs = record.sourceCidrs.length === 0 ? null : cidrs;
  }

  isInForce(nowMs: number): boolean {
    return this.record.status === 'active' && nowMs < this.endsAtMs;
  }

  /** Active when it was read, and past its end now. */
  hasLapsed(nowMs: number): boolean {
    return this.record.status === 'active' && nowMs >= this.endsAtMs;
  }

  /** Is the address on the list? An unknown address is on none; without a list all are. */
  isFrom(address: string | undefined): boolean {
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

/** The kind comes from the record, never from how the key is spelled. */
export const knownKey = (keyHash: string, record: ResolvedKey): KnownKey =>
  record.kind === 'api_key' ? new KnownApiKey(keyHash, record) : new KnownPartnerKey(keyHash, record);
