import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Rows that belong to one organization. */
const ORGANIZATION = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid) AND (
      CASE (SELECT current_setting('rmm.org_access', true))
        WHEN 'all' THEN true
        WHEN 'selected' THEN uuid_send(org_id) IN (
          SELECT decode(unnest(string_to_array(current_setting('rmm.org_ids', true), ',')), 'hex'))
        ELSE false
      END)
    WHEN 'organization' THEN org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)
    WHEN 'system' THEN (SELECT session_user <> current_user)
    ELSE false
  END`;

/**
 * Counts the scanned devices of an organization by the day (UTC) of their latest scan, so that reports are not read to sum
 * them up. Triggers change the counters in the transaction of the report or of the decommissioning.
 */
export class AddPostureCounts1771201000000 implements MigrationInterface {
  name = 'AddPostureCounts1771201000000';

  async up(q: QueryRunner): Promise<void> {
    await this.addColumns(q);
    await this.createTable(q);
    await this.createTriggers(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TRIGGER count_posture_changed ON device');
    for (const change of ['added', 'changed', 'removed'])
      await q.query(`DROP TRIGGER count_${change} ON device_posture`);
    await q.query('DROP FUNCTION count_posture, count_posture_of_devices');
    await q.query('DROP TABLE posture_count');
    await q.query('DROP FUNCTION posture_keys');
    await q.query('DROP INDEX device_posture_org_collected_idx, device_posture_partner_collected_idx');
    await q.query('ALTER TABLE device_posture DROP COLUMN detections, DROP COLUMN is_active');
    for (const owner of ['org', 'partner']) {
      await q.query(`DROP INDEX device_posture_product_${owner}_newest_idx`);
      await q.query(
        `CREATE INDEX device_posture_product_${owner}_idx ON device_posture_product (${owner}_id, category, name)`,
      );
    }
    await q.query('DROP INDEX device_posture_product_newest_idx');
    await q.query('ALTER TABLE device_posture_product DROP COLUMN device_created_at');
  }

  /** No version before this one writes reports of posture: the tables are empty, so plain indexes delay no writer. */
  private async addColumns(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE device_posture
      ADD COLUMN detections jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(detections) = 'array'),
      ADD COLUMN is_active boolean NOT NULL DEFAULT true`);
    await q.query('ALTER TABLE device_posture_product ADD COLUMN device_created_at timestamptz(3)');
    await q.query(
      `UPDATE device_posture_product p SET device_created_at = d.created_at FROM device d WHERE d.id = p.device_id`,
    );
    await q.query('ALTER TABLE device_posture_product ALTER COLUMN device_created_at SET NOT NULL');
    for (const owner of ['org', 'partner']) {
      await q.query(
        `CREATE INDEX device_posture_${owner}_collected_idx ON device_posture (${owner}_id, collected_at) WHERE is_active`,
      );
      await q.query(`DROP INDEX device_posture_product_${owner}_idx`);
      await q.query(`CREATE INDEX device_posture_product_${owner}_newest_idx
        ON device_posture_product (${owner}_id, category, name, device_created_at DESC, device_id DESC)`);
    }
    // For the list of all tenants, which alone states the condition: for one tenant it would read the rows of others.
    await q.query(`CREATE INDEX device_posture_product_newest_idx
      ON device_posture_product (category, name, device_created_at DESC, device_id DESC) WHERE status <> ''`);
  }

  private async createTable(q: QueryRunner): Promise<void> {
    const [{ service, worker }] = (await q.query(`
      SELECT quote_ident(current_setting('rmm.service_role')) AS service,
             quote_ident(current_setting('rmm.worker_role')) AS worker`)) as { service: string; worker: string }[];
    await q.query(`CREATE TABLE posture_count (
      org_id uuid NOT NULL,
      partner_id uuid NOT NULL,
      category text NOT NULL,
      product text NOT NULL,
      status text NOT NULL,
      day date NOT NULL,
      devices integer NOT NULL,
      PRIMARY KEY (org_id, category, product, status, day),
      CONSTRAINT posture_count_organization_fkey
        FOREIGN KEY (org_id, partner_id) REFERENCES organization (id, partner_id) ON DELETE CASCADE
    ) WITH (fillfactor = 70)`);
    await q.query('CREATE INDEX posture_count_partner_idx ON posture_count (partner_id, category)');
    await q.query('ALTER TABLE posture_count ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
    await q.query(`REVOKE ALL ON posture_count FROM PUBLIC, ${service}, ${worker}`);
    for (const [login, role, rows] of [
      ['service', service, ORGANIZATION],
      ['worker', worker, 'true'],
    ]) {
      for (const command of ['SELECT', 'INSERT', 'UPDATE', 'DELETE']) {
        const using = command === 'INSERT' ? '' : `USING (${rows})`;
        const check = command === 'INSERT' || command === 'UPDATE' ? `WITH CHECK (${rows})` : '';
        const name = `${login}_${command.toLowerCase()}`;
        await q.query(`CREATE POLICY ${name} ON posture_count FOR ${command} TO ${role} ${using} ${check}`);
      }
      await q.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON posture_count TO ${role}`);
    }
  }

  /**
   * A device counts as scanned (no category), as one with detections (a category without product), and with each product.
   * Rows are changed in the order of their key: two transactions cannot wait for each other.
   */
  private async createTriggers(q: QueryRunner): Promise<void> {
    await q.query(`CREATE FUNCTION posture_keys(detections jsonb)
    RETURNS TABLE (category text, product text, status text) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
      SELECT '', '', ''
       UNION ALL
      SELECT DISTINCT d ->> 0, '', '' FROM jsonb_array_elements(detections) AS d
       UNION ALL
      SELECT d ->> 0, d ->> 1, d ->> 2 FROM jsonb_array_elements(detections) AS d
    $$`);
    const changed = (reports: string) => `
      SELECT r.partner_id, r.org_id, k.category, k.product, k.status, (r.collected_at AT TIME ZONE 'UTC')::date AS day,
             sum(r.sign)::integer AS number
        FROM (${reports}) AS r CROSS JOIN LATERAL posture_keys(r.detections) AS k
       GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(r.sign) <> 0 ORDER BY 2, 3, 4, 5, 6`;
    const columns = 'partner_id, org_id, collected_at, detections';
    const added = `SELECT ${columns}, 1 AS sign FROM added WHERE is_active`;
    const removed = `SELECT ${columns}, -1 AS sign FROM removed WHERE is_active`;
    const loop = (reports: string) => `
      FOR change IN ${changed(reports)} LOOP
        INSERT INTO posture_count AS c (partner_id, org_id, category, product, status, day, devices)
        VALUES (change.partner_id, change.org_id, change.category, change.product, change.status, change.day, change.number)
        ON CONFLICT (org_id, category, product, status, day) DO UPDATE SET devices = c.devices + excluded.devices;
        IF change.number < 0 THEN
          DELETE FROM posture_count c
           WHERE c.org_id = change.org_id AND c.category = change.category AND c.product = change.product
             AND c.status = change.status AND c.day = change.day AND c.devices = 0;
        END IF;
      END LOOP;`;
    await q.query(`CREATE FUNCTION count_posture() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
      change record;
    BEGIN
      IF tg_op = 'INSERT' THEN ${loop(added)}
      ELSIF tg_op = 'DELETE' THEN ${loop(removed)}
      ELSE ${loop(`${added} UNION ALL ${removed}`)}
      END IF;
      RETURN NULL;
    END $$`);
    const tables = {
      added: 'AFTER INSERT ON device_posture REFERENCING NEW TABLE AS added',
      changed: 'AFTER UPDATE ON device_posture REFERENCING NEW TABLE AS added OLD TABLE AS removed',
      removed: 'AFTER DELETE ON device_posture REFERENCING OLD TABLE AS removed',
    };
    for (const [change, event] of Object.entries(tables)) {
      await q.query(`CREATE TRIGGER count_${change} ${event} FOR EACH STATEMENT EXECUTE FUNCTION count_posture()`);
    }
    await q.query(`CREATE FUNCTION count_posture_of_devices() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
      ids uuid[] := ARRAY(
        SELECT n.id FROM added n JOIN removed o ON o.id = n.id
         WHERE (n.decommissioned_at IS NULL) <> (o.decommissioned_at IS NULL));
    BEGIN
      IF cardinality(ids) > 0 THEN
        UPDATE device_posture p SET is_active = d.decommissioned_at IS NULL
          FROM device d WHERE d.id = p.device_id AND p.device_id = ANY (ids);
      END IF;
      RETURN NULL;
    END $$`);
    await q.query(`CREATE TRIGGER count_posture_changed AFTER UPDATE ON device
      REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION count_posture_of_devices()`);
  }
}
