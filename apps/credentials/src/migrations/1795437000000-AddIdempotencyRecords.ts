import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';

/** Rows of the partner or organization in whose scope the caller was. */
const IDEMPOTENCY_RECORD = `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN partner_id = (SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)
    WHEN 'organization' THEN org_id = (SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/**
 * Creates the table of requests with an idempotency key. `id` is the hash of caller, tenant, method, path and key. A
 * response that contains a key is sealed and erased at `response_expires_at`, before the record.
 */
export class AddIdempotencyRecords1795437000000 implements MigrationInterface {
  name = 'AddIdempotencyRecords1795437000000';

  async up(q: QueryRunner): Promise<void> {
    const { service, worker } = await loginRoles(q);
    await q.query(`CREATE TABLE idempotency_record (
      id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{64}$'),
      partner_id uuid,
      org_id uuid,
      caller_id text NOT NULL,
      body_hash text NOT NULL,
      response text,
      created_at timestamptz(3) NOT NULL DEFAULT now(),
      expires_at timestamptz(3) NOT NULL,
      response_expires_at timestamptz(3),
      FOREIGN KEY (org_id, partner_id) REFERENCES organization_directory (org_id, partner_id)
    )`);
    await q.query('CREATE INDEX idempotency_record_expires_idx ON idempotency_record (expires_at)');
    await q.query('CREATE INDEX idempotency_record_caller_idx ON idempotency_record (caller_id, expires_at)');
    await q.query(`CREATE INDEX idempotency_record_response_idx ON idempotency_record (response_expires_at)
      WHERE response_expires_at IS NOT NULL`);
    await q.query('ALTER TABLE idempotency_record ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY');
    await q.query(`REVOKE ALL ON idempotency_record FROM PUBLIC, ${service}, ${worker}`);
    await restrict(q, service, IDEMPOTENCY_RECORD);
    await q.query(`GRANT SELECT, INSERT, UPDATE ON idempotency_record TO ${service}`);
    for (const command of ['SELECT', 'UPDATE', 'DELETE']) await allow(q, worker, command);
    await q.query(`GRANT SELECT, UPDATE, DELETE ON idempotency_record TO ${worker}`);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query('DROP TABLE idempotency_record');
  }
}

/** Creates the policies of the service login. */
async function restrict(q: QueryRunner, service: string, rows: string): Promise<void> {
  await q.query(`CREATE POLICY service_select ON idempotency_record FOR SELECT TO ${service} USING (${rows})`);
  await q.query(`CREATE POLICY service_insert ON idempotency_record FOR INSERT TO ${service} WITH CHECK (${rows})`);
  await q.query(
    `CREATE POLICY service_update ON idempotency_record FOR UPDATE TO ${service} USING (${rows}) WITH CHECK (${rows})`,
  );
  await q.query(`CREATE POLICY service_delete ON idempotency_record FOR DELETE TO ${service} USING (${rows})`);
}

/** Creates a policy of the worker login for all rows. */
async function allow(q: QueryRunner, worker: string, command: string): Promise<void> {
  const check = command === 'UPDATE' ? 'WITH CHECK (true)' : '';
  await q.query(`CREATE POLICY worker_${command.toLowerCase()} ON idempotency_record FOR ${command} TO ${worker}
    USING (true) ${check}`);
}

/** Returns the quoted names of the runtime logins; the migrations runner sets them on its connection. */
async function loginRoles(q: QueryRunner): Promise<{ service: string; worker: string }> {
  const rows = (await q.query(`
    SELECT quote_ident(current_setting('rmm.service_role')) AS service,
           quote_ident(current_setting('rmm.worker_role')) AS worker`)) as { service: string; worker: string }[];
  return rows[0];
}
