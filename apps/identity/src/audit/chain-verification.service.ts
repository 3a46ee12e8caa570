import { Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { WorkerDatabase } from '@rmm/persistence';
import type { TimeoutRule } from '@rmm/service-kit';
import { ContextRequired } from '../members/member.errors.js';
import { EMPTY_CHAIN, firstBreak, type AuditHead } from './audit-chain.js';
import {
  AuditRepository,
  PLATFORM_CHAIN,
  type ChainEnds,
  type ChainPlace,
  type TimeRange,
} from './audit.repository.js';
import type { ChainBreakDto, ChainVerificationDto } from './chain-verification.dto.js';
import type { VerifyAuditLogsDto } from './dto.js';

const PAGE = 500; // rows
const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';
const AFTER_ALL = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** A long chain takes its time; the pages between leave everybody else theirs. */
export const VERIFY_TIMEOUT: TimeoutRule = { path: '/audit-logs/verify', timeoutMs: 300_000 };

interface Stretch {
  /** The places to walk, both included; what the caller asked for lies within. */
  first: number;
  last: number;
  /** The last place that was asked for. */
  askedUpTo: number;
}

interface Walk {
  checkedRows: number;
  broken: ChainBreakDto | null;
}

/** Checks that the audit trail is what was sealed. */
@Injectable()
export class ChainVerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditRepository,
    private readonly audit: AuditTrail,
  ) {}

  /**
   * Walks the chain of a partner (or the platform's) and names the first link that does not hold. With `from` or `to`
   * it walks from the first to the last row of that time in the order of the chain, and the links at both ends.
   * @throws ContextRequired
   */
  async verify(caller: UserCaller, { partnerId: named, from, to }: VerifyAuditLogsDto): Promise<ChainVerificationDto> {
    const partnerId = caller.scope === 'system' ? (named ?? null) : caller.partnerId;
    if (caller.scope === 'organization' || (caller.scope === 'partner' && partnerId === null))
      throw new ContextRequired();
    const chain = partnerId ?? PLATFORM_CHAIN;
    const ends = await this.repository.findEnds(this.worker, chain, { from, to });
    const stretch = stretchOf(ends, { from, to });
    const { checkedRows, broken } = stretch ? await this.walk(chain, stretch, ends) : { checkedRows: 0, broken: null };
    const resource = { type: 'audit_log', name: 'Audit trail', id: partnerId, partnerId, orgId: null };
    await this.audit.recordDirect(caller, 'audit.verify', resource, {
      verified: broken === null,
      checkedRows,
      from,
      to,
    });
    const { head } = ends;
    return {
      data: {
        partnerId,
        verified: broken === null,
        checkedRows,
        fromSequence: checkedRows > 0 ? (ends.first ?? null) : null,
        toSequence: checkedRows > 0 ? (ends.last ?? null) : null,
        firstBreak: broken,
        head: head && { sequence: head.sequence, checksum: head.checksum, timestamp: head.timestamp.toISOString() },
      },
    };
  }

  private async walk(chain: string, { first, last, askedUpTo }: Stretch, ends: ChainEnds): Promise<Walk> {
    let link = await this.linkBefore(chain, first);
    if (!link) return { checkedRows: 0, broken: { sequence: first, id: '', kind: 'missing' } };
    let beyond: ChainPlace = { sequence: first, id: BEFORE_ALL };
    let checkedRows = 0;
    for (;;) {
      const rows = await this.repository.listChain(this.worker, chain, beyond, last, PAGE);
      const end = rows.at(-1);
      if (!end) break;
      checkedRows += rows.filter(({ sequence }) => sequence <= askedUpTo).length;
      const broken = firstBreak(link, rows);
      if (broken) return { checkedRows, broken };
      link = { sequence: end.sequence, checksum: end.checksum };
      beyond = { sequence: end.sequence, id: end.id };
    }
    return { checkedRows, broken: await this.endBreak(chain, link, last, ends) };
  }

  /** The link that the first place must follow from. Null when its row is gone. */
  private async linkBefore(chain: string, first: number): Promise<AuditHead | null> {
    if (first <= 1) return EMPTY_CHAIN;
    const [before] = await this.repository.listChain(
      this.worker,
      chain,
      { sequence: first - 1, id: BEFORE_ALL },
      first - 1,
      1,
    );
    return before ? { sequence: before.sequence, checksum: before.checksum } : null;
  }

  /** What no row shows: rows missing at the end, another end than the one sealed, rows beyond it. */
  private async endBreak(
    chain: string,
    link: AuditHead,
    last: number,
    { head, latest }: ChainEnds,
  ): Promise<ChainBreakDto | null> {
    if (link.sequence < last) return { sequence: link.sequence + 1, id: '', kind: 'missing' };
    const sealedUpTo = head?.sequence ?? 0;
    if (last < sealedUpTo) return null;
    if (head && link.checksum !== head.checksum) return { sequence: head.sequence, id: '', kind: 'changed' };
    if (latest === null || latest <= sealedUpTo) return null;
    const beyond = { sequence: sealedUpTo, id: AFTER_ALL };
    const [added] = await this.repository.listChain(this.worker, chain, beyond, latest, 1);
    return added ? { sequence: added.sequence, id: added.id, kind: 'reordered' } : null;
  }
}

/**
 * Which places to walk. A time covers the places between its first and its last row, late ones among them; the place
 * after the last one is walked too, for it shows whether one is missing there.
 */
function stretchOf({ head, first, last, latest }: ChainEnds, { from, to }: TimeRange): Stretch | null {
  const sealedUpTo = head?.sequence ?? 0;
  if (!from && !to) return sealedUpTo > 0 || latest ? { first: 1, last: sealedUpTo, askedUpTo: sealedUpTo } : null;
  if (first === null || last === null) return null;
  const begin = from ? first : 1;
  const end = to ? Math.min(last + 1, sealedUpTo) : sealedUpTo;
  return { first: begin, last: end, askedUpTo: to ? last : sealedUpTo };
}
