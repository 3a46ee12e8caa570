import { Injectable } from '@nestjs/common';
import type { AgentCaller } from '@rmm/access';
import { TenantDatabase, type TenantTransaction } from '@rmm/persistence';
import { UnauthenticatedError } from '@rmm/service-kit';
import { INVENTORY_KINDS, type InventoryKind, type InventoryReport } from './inventory-report.js';
import type { PostureReport } from './posture-report.js';

const TABLES: Record<InventoryKind, { table: string; columns: readonly string[] }> = {
  hardware: { table: 'device_hardware', columns: ['hardware'] },
  software: { table: 'device_software', columns: ['software', 'total'] },
  disks: { table: 'device_disk', columns: ['disks'] },
  network: { table: 'device_network', columns: ['adapters'] },
};

const statementsOf = <S>(text: (kind: InventoryKind) => S): Record<InventoryKind, S> =>
  Object.fromEntries(INVENTORY_KINDS.map((kind) => [kind, text(kind)])) as Record<InventoryKind, S>;

const IS_UNCHANGED = statementsOf(
  (kind) => `
  SELECT r.content_hash = :hash AS "isUnchanged"
    FROM device d JOIN ${TABLES[kind].table} r ON r.device_id = d.id
   WHERE d.id = :deviceId AND d.org_id = :orgId AND d.decommissioned_at IS NULL`,
);

/** SQL: one statement replaces a report, and writes nothing when an equal one was stored meanwhile. */
const STORE = statementsOf((kind) => {
  const { table, columns } = TABLES[kind];
  return `
  WITH target AS (
    SELECT id, partner_id, org_id FROM device WHERE id = :deviceId AND org_id = :orgId AND decommissioned_at IS NULL),
  stored AS (
    INSERT INTO ${table} AS r (device_id, partner_id, org_id, ${columns.join(', ')}, content_hash)
    SELECT id, partner_id, org_id, ${columns.map((name) => `:${name}`).join(', ')}, :hash FROM target
    ON CONFLICT (device_id) DO UPDATE
      SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}, content_hash = excluded.content_hash
      WHERE r.content_hash IS DISTINCT FROM excluded.content_hash)
  SELECT id FROM target`;
});

/** Reports of one device follow each other, so that its products are those of one of them. */
const LOCK_DEVICE = `
  SELECT id FROM device WHERE id = :deviceId AND org_id = :orgId AND decommissioned_at IS NULL FOR NO KEY UPDATE`;

/** SQL: a scan of the future is one of now, so that a wrong clock does not keep it from getting stale. Triggers count. */
const STORE_POSTURE = `
  WITH before AS (SELECT content_hash FROM device_posture WHERE device_id = :deviceId)
  INSERT INTO device_posture AS r
    (device_id, partner_id, org_id, collected_at, scan_duration_ms, identity, errors, detections, content_hash)
  VALUES (:deviceId, :partnerId, :orgId, least(:collectedAt::timestamptz, now()), :scanDurationMs, :identity, :errors,
          :detections, :hash)
  ON CONFLICT (device_id) DO UPDATE
    SET collected_at = excluded.collected_at, scan_duration_ms = excluded.scan_duration_ms, identity = excluded.identity,
        errors = excluded.errors, detections = excluded.detections, content_hash = excluded.content_hash
    WHERE (r.collected_at, r.content_hash) IS DISTINCT FROM (excluded.collected_at, excluded.content_hash)
  RETURNING (SELECT content_hash FROM before) IS DISTINCT FROM :hash AS "isChanged"`;

const STORE_PRODUCTS = `
  WITH reported AS (
    SELECT * FROM jsonb_to_recordset(:products::jsonb)
           AS p (category text, name text, version text, status text, "serviceName" text, details jsonb)),
  removed AS (
    DELETE FROM device_posture_product p WHERE p.device_id = :deviceId
       AND NOT EXISTS (SELECT FROM reported r WHERE r.category = p.category AND r.name = p.name))
  INSERT INTO device_posture_product AS p
    (device_id, partner_id, org_id, device_created_at, category, name, version, status, service_name, details)
  SELECT d.id, d.partner_id, d.org_id, d.created_at, r.category, r.name, r.version, r.status, r."serviceName", r.details
    FROM reported r JOIN device d ON d.id = :deviceId
  ON CONFLICT (device_id, category, name) DO UPDATE
    SET version = excluded.version, status = excluded.status, service_name = excluded.service_name,
        details = excluded.details
    WHERE (p.version, p.status, p.service_name, p.details)
          IS DISTINCT FROM (excluded.version, excluded.status, excluded.service_name, excluded.details)`;

/** Stores the reports of agents, each as a whole in the place of the one before. SQL: set operations on hot paths. */
@Injectable()
export class ReportsRepository {
  constructor(private readonly tenants: TenantDatabase) {}

  /** Returns true when an equal report of an active device is stored; then there is nothing to write. */
  async isStored({ tenant, deviceId, orgId }: AgentCaller, { kind, hash }: InventoryReport): Promise<boolean> {
    const params = { deviceId, orgId, hash };
    const [stored] = await this.tenants.read<{ isUnchanged: boolean | null }>({ tenant }, IS_UNCHANGED[kind], params);
    return stored?.isUnchanged === true;
  }

  /** @throws UnauthenticatedError  for a decommissioned device: its token has ended */
  async storeInventory(tx: TenantTransaction, caller: AgentCaller, report: InventoryReport): Promise<void> {
    const { deviceId, orgId } = caller;
    const { kind, columns, hash } = report;
    const rows = await tx.query(STORE[kind], { deviceId, orgId, ...columns, hash });
    if (rows.length === 0) throw new UnauthenticatedError();
  }

  /** @throws UnauthenticatedError  for a decommissioned device: its token has ended */
  async storePosture(tx: TenantTransaction, caller: AgentCaller, report: PostureReport): Promise<void> {
    const { deviceId, orgId, partnerId } = caller;
    if ((await tx.query(LOCK_DEVICE, { deviceId, orgId })).length === 0) throw new UnauthenticatedError();
    const { collectedAt, scanDurationMs, identity, errors, products, hash } = report;
    const [stored] = await tx.query<{ isChanged: boolean }>(STORE_POSTURE, {
      ...{ deviceId, orgId, partnerId, collectedAt, scanDurationMs, hash },
      identity: identity && JSON.stringify(identity),
      errors: errors === null ? null : JSON.stringify(errors),
      detections: JSON.stringify(products.map(({ category, name, status }) => [category, name, status])),
    });
    if (stored?.isChanged) await tx.query(STORE_PRODUCTS, { deviceId, products: JSON.stringify(products) });
  }
}
