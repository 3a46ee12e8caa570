import { Injectable } from '@nestjs/common';
import type { Caller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import type { DeadLetterRow } from './dto/dead-letter.dto.js';

const COLUMNS = `
  delivery_id as "deliveryId", webhook_id as "webhookId", org_id as "orgId", event_type as event,
  event_id as "eventId", attempts, response_status as "responseStatus", error_message as "errorMessage",
  failed_at as "failedAt"`;

export interface DeadLetterFilter {
  orgId: string | null;
  webhookId: string | null;
  limit: number;
  offset: number;
}

/** The table is the record of dead letters; the queue follows it. */
@Injectable()
export class DeadLettersRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Newest first, of all organizations the caller reaches. */
  async list(caller: Caller, filter: DeadLetterFilter): Promise<{ rows: DeadLetterRow[]; total: number }> {
    const { where, params } = conditionsOf(caller, filter);
    const next = params.length;
    const [rows, counted] = await Promise.all([
      this.tenants.read<DeadLetterRow>(
        caller,
        `select ${COLUMNS} from dead_letter where ${where}
          order by failed_at desc, delivery_id desc limit $${next + 1} offset $${next + 2}`,
        [...params, filter.limit, filter.offset],
      ),
      this.tenants.read<{ total: number }>(
        caller,
        `select count(*)::int as total from dead_letter where ${where}`,
        params,
      ),
    ]);
    return { rows, total: counted[0]?.total ?? 0 };
  }

  async find(tx: TenantTransaction, deliveryId: string): Promise<DeadLetterRow | null> {
    const [row] = await tx.query<DeadLetterRow>(`select ${COLUMNS} from dead_letter where delivery_id = $1`, [
      deliveryId,
    ]);
    return row ?? null;
  }

  /** Of two who take the same one, one gets it. @returns whether it was there */
  async take(tx: TenantTransaction, deliveryId: string): Promise<boolean> {
    const taken = await tx.query('delete from dead_letter where delivery_id = $1 returning delivery_id', [deliveryId]);
    return taken.length > 0;
  }
}

/**
 * A few texts, each prepared once. Row-level security decides; what it would decide is said once more in a form an
 * index serves.
 */
function conditionsOf({ tenant }: Caller, { orgId, webhookId }: DeadLetterFilter) {
  const wanted: [column: string, value: string | null][] = [
    ['org_id', orgId ?? (tenant.scope === 'organization' ? tenant.orgId : null)],
    ['partner_id', tenant.scope === 'partner' ? tenant.partnerId : null],
    ['webhook_id', webhookId],
  ];
  const given = wanted.filter(([, value]) => value !== null);
  return {
    where: given.map(([column], i) => `${column} = $${i + 1}`).join(' and ') || 'true',
    params: given.map(([, value]) => value),
  };
}
