import { Injectable } from '@nestjs/common';
import { splitPermission, PERMISSION_VOCABULARY, SYSTEM_ROLES } from '@rmm/permissions';
import { WorkerDatabase, type SqlExecutor } from '@rmm/persistence';

/** One number for one lock: replicas that start together seed one after the other. */
const SEED_LOCK = 727_001;

const pairs = [
  ...Object.entries(PERMISSION_VOCABULARY).flatMap(([resource, actions]) =>
    [...actions].map((action) => ({ resource, action })),
  ),
  { resource: '*', action: '*' },
];

/** Brings the vocabulary and the seeded roles of `@rmm/permissions` into the database; nothing changes the second time. */
@Injectable()
export class RoleSeeds {
  constructor(private readonly worker: WorkerDatabase) {}

  async seed(): Promise<void> {
    await this.worker.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [SEED_LOCK]);
      await this.seedPermissions(tx);
      await this.seedRoles(tx);
      await this.seedGrants(tx);
    });
  }

  private async seedPermissions(tx: SqlExecutor): Promise<void> {
    await tx.query(
      `insert into permission (resource, action)
       select * from unnest($1::text[], $2::text[]) on conflict (resource, action) do nothing`,
      [pairs.map((p) => p.resource), pairs.map((p) => p.action)],
    );
  }

  private async seedRoles(tx: SqlExecutor): Promise<void> {
    await tx.query(
      `insert into role (system_key, scope, name, description, force_mfa, is_system)
       select s.key, s.scope, s.name, s.description, s.force_mfa, true
       from json_to_recordset($1::json) as s(key text, scope text, name text, description text, force_mfa boolean)
       on conflict (system_key) where partner_id is null do update
         set name = excluded.name, description = excluded.description, force_mfa = excluded.force_mfa, updated_at = now()
         where (role.name, role.description, role.force_mfa)
           is distinct from (excluded.name, excluded.description, excluded.force_mfa)`,
      [JSON.stringify(SYSTEM_ROLES.map((role) => ({ ...role, force_mfa: role.forceMfa })))],
    );
  }

  /** Exactly the pairs of the code: what it no longer names is taken away. */
  private async seedGrants(tx: SqlExecutor): Promise<void> {
    const grants = SYSTEM_ROLES.flatMap(({ key, permissions }) =>
      permissions.map((permission) => ({ key, ...splitPermission(permission) })),
    );
    await tx.query(
      `with wanted as (
         select r.id as role_id, p.id as permission_id
         from json_to_recordset($1::json) as g(key text, resource text, action text)
         join role r on r.system_key = g.key and r.partner_id is null
         join permission p on p.resource = g.resource and p.action = g.action
       ),
       gone as (
         delete from role_permission rp using role r
         where r.id = rp.role_id and r.is_system and r.partner_id is null
           and not exists (select from wanted w where w.role_id = rp.role_id and w.permission_id = rp.permission_id)
       )
       insert into role_permission (role_id, permission_id) select role_id, permission_id from wanted
       on conflict do nothing`,
      [JSON.stringify(grants)],
    );
  }
}
