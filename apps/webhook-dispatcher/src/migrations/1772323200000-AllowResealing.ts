import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets the worker login replace sealed texts, which it does after a rotation of the key ring. */
export class AllowResealing1772323200000 implements MigrationInterface {
  name = 'AllowResealing1772323200000';

  async up(q: QueryRunner): Promise<void> {
    const worker = await workerRole(q);
    await q.query(`GRANT UPDATE (url_sealed, secret_sealed, previous_secret_sealed, headers) ON webhook TO ${worker}`);
    await q.query(`GRANT UPDATE (headers) ON request_shape TO ${worker}`);
    await q.query(
      `CREATE POLICY worker_update ON request_shape FOR UPDATE TO ${worker} USING (true) WITH CHECK (true)`,
    );
  }

  async down(q: QueryRunner): Promise<void> {
    const worker = await workerRole(q);
    await q.query('DROP POLICY worker_update ON request_shape');
    await q.query(`REVOKE UPDATE (headers) ON request_shape FROM ${worker}`);
    await q.query(
      `REVOKE UPDATE (url_sealed, secret_sealed, previous_secret_sealed, headers) ON webhook FROM ${worker}`,
    );
  }
}

/** Returns the quoted name of the worker login; the migrations runner sets it on its connection. */
async function workerRole(q: QueryRunner): Promise<string> {
  const rows = (await q.query(`SELECT quote_ident(current_setting('rmm.worker_role')) AS worker`)) as {
    worker: string;
  }[];
  return rows[0].worker;
}
