import { Inject, Injectable } from '@nestjs/common';
import type { UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { MAX_UUID, NIL_UUID, WorkerDatabase } from '@rmm/persistence';
import { RateLimits } from '@rmm/rate-limits';
import { UnavailableError, type TimeoutRule } from '@rmm/service-kit';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { ContextRequired } from '../members/member.errors.js';
import { EMPTY_CHAIN, findFirstBreak, type AuditHead, type SealedAuditRow } from './audit-chain.js';
import {
  AuditEntriesRepository,
  PLATFORM_CHAIN,
  type ChainEnds,
  type ChainPosition,
  type TimeRange,
} from './audit-entries.repository.js';
import { AuditNamesService } from './audit-names.service.js';
import type { VerifyAuditLogsDto } from './dto/audit-filters.dto.js';
import type { ChainBreakDto, ChainVerificationDto } from './dto/chain-verification.dto.js';

/** Entries of a page: hashing them holds the event loop for a few milliseconds. */
const PAGE = 100;

/** A long chain takes minutes; it is read in pages, so that other requests are served meanwhile. */
export const VERIFY_TIMEOUT: TimeoutRule = { path: '/audit-logs/verify', timeoutMs: 300_000 };

interface CheckedRange {
  /** The positions to check, both included. */
  first: number;
  last: number;
  /** The last position that the caller requested. */
  requestedUpTo: number;
}

interface CheckResult {
  checkedRows: number;
  broken: ChainBreakDto | null;
}

/** Verifies that the audit trail is as it was sealed. @see docs/reference/audit.md */
@Injectable()
export class ChainVerificationService {
  constructor(
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditEntriesRepository,
    private readonly names: AuditNamesService,
    private readonly audit: AuditTrail,
    private readonly limits: RateLimits,
    @Inject(IDENTITY_CONFIG) private readonly config: IdentityConfig,
  ) {}

  /**
   * Verifies the chain of a partner (or the platform's) and returns the first broken link. With `from` or `to` it checks
   * from the first to the last entry of that time in the order of the chain, and the links at both ends.
   * @param signal  stops the reading between two pages
   * @throws ContextRequired, RateLimitedError; UnavailableError when it was stopped
   */
  async verify(
    caller: UserCaller,
    { partnerId: named, from, to }: VerifyAuditLogsDto,
    signal?: AbortSignal,
  ): Promise<ChainVerificationDto> {
    const partnerId = caller.scope === 'system' ? (named ?? null) : caller.partnerId;
    if (caller.scope === 'organization' || (caller.scope === 'partner' && partnerId === null))
      throw new ContextRequired();
    await this.limits.hit(this.config.limits.auditVerify, caller.userId);
    const chain = partnerId ?? PLATFORM_CHAIN;
    const ends = await this.repository.findEnds(this.worker, chain, { from, to });
    const range = rangeToCheck(ends, { from, to });
    const { checkedRows, broken } = range
      ? await this.check(chain, range, ends, signal)
      : { checkedRows: 0, broken: null };
    const resource = { type: 'audit_log', name: 'Audit trail', id: partnerId, partnerId, orgId: null };
    await this.audit.recordDirect(caller, 'audit.verify', resource, {
      verified: broken === null,
      checkedRows,
      from,
      to,
      head: ends.head && { sequence: ends.head.sequence, checksum: ends.head.checksum },
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

  private async check(
    chain: string,
    { first, last, requestedUpTo }: CheckedRange,
    ends: ChainEnds,
    signal?: AbortSignal,
  ): Promise<CheckResult> {
    let link = await this.findLinkBefore(chain, first);
    if (!link) return { checkedRows: 0, broken: { sequence: first, id: '', kind: 'missing' } };
    let after: ChainPosition = { sequence: first, id: NIL_UUID };
    let checkedRows = 0;
    for (;;) {
      if (signal?.aborted) throw new UnavailableError(undefined, { logDetails: { reason: 'client disconnected' } });
      const rows = await this.repository.listChain(this.worker, chain, after, last, PAGE);
      const end = rows.at(-1);
      if (!end) break;
      checkedRows += rows.filter(({ sequence }) => sequence <= requestedUpTo).length;
      const broken = findFirstBreak(link, rows) ?? (await this.findAlteredName(rows));
      if (broken) return { checkedRows, broken };
      link = { sequence: end.sequence, checksum: end.checksum };
      after = { sequence: end.sequence, id: end.id };
    }
    return { checkedRows, broken: await this.findBreakAtEnd(chain, link, last, ends) };
  }

  private async findAlteredName(rows: readonly SealedAuditRow[]): Promise<ChainBreakDto | null> {
    const altered = await this.names.findAltered(this.worker, rows);
    return altered && { sequence: altered.sequence, id: altered.id, kind: 'changed' };
  }

  /** Returns the link that the first position must follow from; null when its entry is missing. */
  private async findLinkBefore(chain: string, first: number): Promise<AuditHead | null> {
    if (first <= 1) return EMPTY_CHAIN;
    const [before] = await this.repository.listChain(
      this.worker,
      chain,
      { sequence: first - 1, id: NIL_UUID },
      first - 1,
      1,
    );
    return before ? { sequence: before.sequence, checksum: before.checksum } : null;
  }

  /** Finds what no entry shows: entries missing at the end, another end than the sealed one, entries after it. */
  private async findBreakAtEnd(
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
    const after = { sequence: sealedUpTo, id: MAX_UUID };
    const [added] = await this.repository.listChain(this.worker, chain, after, latest, 1);
    return added ? { sequence: added.sequence, id: added.id, kind: 'reordered' } : null;
  }
}

/**
 * Returns the positions to check. A range of time covers the positions between its first and its last entry, including
 * late ones; the position after the last one is checked too, because it shows whether an entry is missing there.
 */
function rangeToCheck({ head, first, last, latest }: ChainEnds, { from, to }: TimeRange): CheckedRange | null {
  const sealedUpTo = head?.sequence ?? 0;
  if (!from && !to) return sealedUpTo > 0 || latest ? { first: 1, last: sealedUpTo, requestedUpTo: sealedUpTo } : null;
  if (first === null || last === null) return null;
  const begin = from ? first : 1;
  const end = to ? Math.min(last + 1, sealedUpTo) : sealedUpTo;
  return { first: begin, last: end, requestedUpTo: to ? last : sealedUpTo };
}
