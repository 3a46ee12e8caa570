import { Injectable } from '@nestjs/common';
import { splitPermission, PERMISSION_VOCABULARY, SYSTEM_ROLES } from '@rmm/permissions';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';

/** Advisory lock: replicas that start together seed one after the other. */
const SEED_LOCK = 727_001;

const PAIRS = [
  ...Object.entries(PERMISSION_VOCABULARY).flatMap(([resource, actions]) =>
    [...actions].map((action) => ({ resource, action })),
  ),
  { resource: '*', action: '*' },
];

/** Stores the permissions and system roles of `@rmm/permissions`; running it again changes nothing. */
@Injectable()
export class SystemRolesRepository {
  constructor(private readonly worker: WorkerDatabase) {}

  async seed(): Promise<void> {
    await this.worker.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [SEED_LOCK]);
      await this.seedPermissions(tx);
      await this.seedRoles(tx);
      await this.seedGrants(tx);
    });
  }

  private async seedPermissions(tx: SqlExecutor): Promise<void> {
    await tx.query(
      `INSERT INTO permission (resource, action)
       SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT (resource, action) DO NOTHING`,
      [PAIRS.map((p) => p.resource), PAIRS.map((p) => p.action)],
    );
  }

  private async seedRoles(tx: SqlExecutor): Promise<void> {
    await tx.query(
      `INSERT INTO role (system_key, scope, name, description, force_mfa, is_system)
       SELECT s.key, s.scope, s.name, s.description, s.force_mfa, TRUE
       FROM json_to_recordset($1::json) AS s(key text, scope text, name text, description text, force_mfa boolean)
       ON CONFLICT (system_key) WHERE partner_id IS NULL DO UPDATE
         SET name = excluded.name, description = excluded.description, force_mfa = excluded.force_mfa, updated_at = now()
         WHERE (role.name, role.description, role.force_mfa)
           IS DISTINCT FROM (excluded.name, excluded.description, excluded.force_mfa)`,
      [JSON.stringify(SYSTEM_ROLES.map((role) => ({ ...role, force_mfa: role.forceMfa })))],
    );
  }

  /** Grants exactly the permissions of the code: those it no longer names are removed. */
  private async seedGrants(tx: SqlExecutor): Promise<void> {
    const grants = SYSTEM_ROLES.flatMap(({ key, permissions }) =>
      permissions.map((permission) => ({ key, ...splitPermission(permission) })),
    );
    await tx.query(
      `WITH wanted AS (
         SELECT r.id AS role_id, p.id AS permission_id
         FROM json_to_recordset($1::json) AS g(key text, resource text, action text)
         JOIN role r ON r.system_key = g.key AND r.partner_id IS NULL
         JOIN permission p ON p.resource = g.resource AND p.action = g.action
       ),
       gone AS (
         DELETE FROM role_permission rp USING role r
         WHERE r.id = rp.role_id AND r.is_system AND r.partner_id IS NULL
           AND NOT EXISTS (SELECT FROM wanted w WHERE w.role_id = rp.role_id AND w.permission_id = rp.permission_id)
       )
       INSERT INTO role_permission (role_id, permission_id) SELECT role_id, permission_id FROM wanted
       ON CONFLICT DO NOTHING`,
      [JSON.stringify(grants)],
    );
  }
}
