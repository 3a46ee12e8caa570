import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { LIVE } from '../../organizations/reachable.js';
import type { CustomFieldPatch, CustomFieldValue } from './custom-field-patch.js';

export interface CustomFieldsRow {
  siteId: string | null;
  groupIds: string[];
  customFields: Record<string, CustomFieldValue>;
}

export interface MergedCustomFields extends CustomFieldsRow {
  orgId: string;
  partnerId: string;
  hostname: string;
  version: string;
}

const FIELDS = `d.site_id as "siteId", '{}'::uuid[] as "groupIds", d.custom_fields as "customFields"`;

@Injectable()
export class CustomFieldsRepository {
  /** Null where there is no device that the caller's organization axis reaches. */
  async find(sql: SqlExecutor, deviceId: string): Promise<CustomFieldsRow | null> {
    const [row] = await sql.query<CustomFieldsRow>(
      `select ${FIELDS} from device d join organization o on o.id = d.org_id and ${LIVE} where d.id = $1`,
      [deviceId],
    );
    return row ?? null;
  }

  /** One statement upon what others left, so patches of different fields at once all stay; null as with `find`. */
  async merge(
    tx: TenantTransaction,
    deviceId: string,
    { set, remove }: CustomFieldPatch,
  ): Promise<MergedCustomFields | null> {
    const [row] = await tx.query<MergedCustomFields>(
      `update device d set custom_fields = (d.custom_fields || $2::jsonb) - $3::text[], version = d.version + 1
         from organization o
        where d.id = $1 and o.id = d.org_id and ${LIVE}
        returning ${FIELDS}, d.org_id as "orgId", d.partner_id as "partnerId", d.hostname, d.version`,
      [deviceId, JSON.stringify(set), remove],
    );
    return row ?? null;
  }
}
