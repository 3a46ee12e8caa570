import { createHmac } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { OrganizationDirectory, type UserCaller } from '@rmm/access';
import { AuditTrail } from '@rmm/messaging';
import { Cursors, keysetPage, Tenants, WorkerDatabase, type SortKey } from '@rmm/persistence';
import { IDENTITY_CONFIG, type IdentityConfig } from '../config.js';
import { ContextRequired } from '../users/user-axis.js';
import { EMPTY_CHAIN, firstBreak, type AuditHead } from './audit-chain.js';
import type { AuditLogDto, AuditLogPageDto } from './audit-log.dto.js';
import { AuditRepository, PLATFORM_CHAIN } from './audit.repository.js';
import type { ChainBreakDto, ChainVerificationDto } from './chain-verification.dto.js';
import type { ListAuditLogsDto, VerifyAuditLogsDto } from './dto.js';

const SELECT = `id, sequence, partner_id as "partnerId", org_id as "orgId", timestamp, actor_type as "actorType",
  actor_id as "actorId", actor_email as "actorEmail", action, resource_type as "resourceType",
  resource_id as "resourceId", resource_name as "resourceName", details, ip_address as "ipAddress",
  user_agent as "userAgent", result, error_message as "errorMessage", initiated_by as "initiatedBy",
  request_id as "requestId", checksum, previous_checksum as "previousChecksum"`;

const FILTER = `($1::text is null or actor_id = $1)
  and ($2::text is null or action = $2) and ($3::text is null or starts_with(action, $3))
  and ($4::text is null or resource_type = $4) and ($5::text is null or resource_id = $5)
  and ($6::uuid is null or org_id = $6) and ($7::text is null or result = $7)
  and ($8::timestamptz is null or timestamp >= $8) and ($9::timestamptz is null or timestamp < $9)`;

const SORT: readonly SortKey[] = [
  { expression: 'timestamp', type: 'timestamptz' },
  { expression: 'id', type: 'uuid' },
];
const VERIFY_PAGE = 1_000;

type AuditLogRow = Omit<AuditLogDto, 'sequence' | 'timestamp'> & { sequence: string; timestamp: Date };

/** Reading and checking the audit trail. */
@Injectable()
export class AuditLogsService {
  private readonly cursors: Cursors;

  constructor(
    private readonly tenants: Tenants,
    private readonly worker: WorkerDatabase,
    private readonly repository: AuditRepository,
    private readonly directory: OrganizationDirectory,
    private readonly audit: AuditTrail,
    @Inject(IDENTITY_CONFIG) config: IdentityConfig,
  ) {
    const { keys, activeKid } = config.secrets.keyRing;
    this.cursors = new Cursors(
      createHmac('sha256', keys[activeKid] ?? '')
        .update('audit-log cursors')
        .digest(),
    );
  }

  /** Newest first, inside the caller's reach, the same cost at any depth. */
  async list(caller: UserCaller, { cursor, limit, ...filters }: ListAuditLogsDto): Promise<AuditLogPageDto> {
    if (filters.orgId !== undefined) await this.directory.assertReachable(caller, filters.orgId);
    const { action } = filters;
    const prefix = action?.endsWith('.*') ? action.slice(0, -1) : null;
    const { rows, nextCursor } = await keysetPage<AuditLogRow>(
      this.tenants.reader(caller),
      this.cursors,
      { caller, list: 'audit-log', filters: { ...filters } },
      {
        select: SELECT,
        from: 'audit_entry',
        where: FILTER,
        params: [
          filters.actorId ?? null,
          prefix ? null : (action ?? null),
          prefix,
          filters.resourceType ?? null,
          filters.resourceId ?? null,
          filters.orgId ?? null,
          filters.result ?? null,
          filters.from ?? null,
          filters.to ?? null,
        ],
        sort: SORT,
        direction: 'desc',
        limit,
        cursor,
      },
    );
    const data = rows.map((row) => ({
      ...row,
      sequence: Number(row.sequence),
      timestamp: row.timestamp.toISOString(),
    }));
    return { data, pagination: { nextCursor, limit } };
  }

  /** Walks the chain of a partner (or the platform's) and names the first link that does not hold. */
  async verify(caller: UserCaller, { partnerId: named, from, to }: VerifyAuditLogsDto): Promise<ChainVerificationDto> {
    const partnerId = caller.scope === 'system' ? (named ?? null) : caller.partnerId;
    if (caller.scope === 'organization' || (caller.scope === 'partner' && partnerId === null))
      throw new ContextRequired();
    const chain = partnerId ?? PLATFORM_CHAIN;
    const head = await this.repository.findHead(this.worker, chain);
    const walked = await this.walk(chain, { from, to });
    const tail =
      !from && !to && !walked.broken && walked.last.sequence !== (head?.sequence ?? 0) ? missingTail(head) : null;
    const broken = walked.broken ?? tail;
    const resource = { type: 'audit_log', id: partnerId, partnerId, orgId: null };
    await this.audit.addDirect(caller, 'audit.verify', resource, { verified: !broken, checkedRows: walked.checked });
    return {
      data: {
        partnerId,
        verified: broken === null,
        checkedRows: walked.checked,
        fromSequence: walked.first,
        toSequence: walked.checked > 0 ? walked.last.sequence : null,
        firstBreak: broken,
        head: head && { sequence: head.sequence, checksum: head.checksum, timestamp: head.timestamp.toISOString() },
      },
    };
  }

  private async walk(chain: string, range: { from?: Date; to?: Date }) {
    let last: AuditHead = EMPTY_CHAIN;
    let first: number | null = null;
    let checked = 0;
    for (;;) {
      const rows = await this.repository.listChain(this.worker, chain, last.sequence, range, VERIFY_PAGE);
      const [start] = rows;
      if (!start) return { first, last, checked, broken: null };
      // A stretch begins wherever its filter does: what lies before its first row is taken on trust.
      if (first === null && range.from) last = { sequence: start.sequence - 1, checksum: start.previousChecksum };
      first ??= start.sequence;
      const broken = firstBreak(last, rows);
      checked += rows.length;
      if (broken) return { first, last, checked, broken };
      const end = rows[rows.length - 1] ?? start;
      last = { sequence: end.sequence, checksum: end.checksum };
    }
  }
}

const missingTail = (head: AuditHead | null): ChainBreakDto => ({
  sequence: head?.sequence ?? 0,
  id: '',
  kind: 'missing',
});
