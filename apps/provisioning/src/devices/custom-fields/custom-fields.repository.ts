import { Injectable } from '@nestjs/common';
import type { SqlExecutor, TenantTransaction } from '@rmm/persistence';
import { NotFoundError } from '@rmm/service-kit';
import { ACTIVE_ORGANIZATION } from '../../organizations/organizations.repository.js';
import type { OsType } from '../device.entity.js';
import { customFieldDefaults } from './definitions/custom-field-definitions.repository.js';
import type { CustomFieldPatch, CustomFieldValue } from './dto/custom-field-patch.dto.js';

export interface CustomFieldsRow {
  siteId: string | null;
  groupIds: string[];
  customFields: Record<string, CustomFieldValue>;
  /** The defaults of defined fields, whether they have a value or not. */
  defaults: Record<string, CustomFieldValue>;
}

export interface MergedCustomFields extends CustomFieldsRow {
  orgId: string;
  partnerId: string;
  hostname: string;
  osType: OsType;
  version: string;
  /** False for a patch that leaves every field as it is. */
  isChanged: boolean;
}

const FIELDS = `d.site_id AS "siteId", d.custom_fields AS "customFields",
  ${customFieldDefaults({ partnerId: 'd.partner_id', orgId: 'd.org_id', osType: 'd.os_type' })} AS defaults,
  ARRAY(SELECT m.group_id FROM device_group_member m WHERE m.device_id = d.id) AS "groupIds"`;

/** Reads and merges custom fields of devices of active organizations. SQL: the merge is one expression over jsonb. */
@Injectable()
export class CustomFieldsRepository {
  /** @throws NotFoundError */
  async get(sql: SqlExecutor, deviceId: string): Promise<CustomFieldsRow> {
    const [row] = await sql.query<CustomFieldsRow>(
      `SELECT ${FIELDS} FROM device d JOIN organization o ON o.id = d.org_id AND ${ACTIVE_ORGANIZATION}
        WHERE d.id = :deviceId`,
      { deviceId },
    );
    if (!row) throw new NotFoundError('Device');
    return row;
  }

  /** Merges with the stored fields in one statement, so that concurrent patches are all applied. @throws NotFoundError */
  async merge(tx: TenantTransaction, deviceId: string, patch: CustomFieldPatch): Promise<MergedCustomFields> {
    const [row] = await tx.query<MergedCustomFields>(
      `WITH merged AS (
         SELECT d.id, d.custom_fields AS before, (d.custom_fields || :set::jsonb) - :remove::text[] AS after
           FROM device d JOIN organization o ON o.id = d.org_id AND ${ACTIVE_ORGANIZATION}
          WHERE d.id = :deviceId FOR NO KEY UPDATE OF d)
       UPDATE device d SET custom_fields = merged.after, version = d.version + (merged.before <> merged.after)::integer
         FROM merged WHERE d.id = merged.id
       RETURNING ${FIELDS}, d.org_id AS "orgId", d.partner_id AS "partnerId", d.hostname, d.os_type AS "osType", d.version,
         merged.before <> merged.after AS "isChanged"`,
      { deviceId, set: JSON.stringify(patch.set), remove: patch.remove },
    );
    if (!row) throw new NotFoundError('Device');
    return row;
  }
}
