import { PersistenceTestDatabase, SCHEMA } from '../../test/persistence-test-database.js';
import { rowSecurityProblems } from './row-security-problems.js';

const SERVICE = `rmm_test_${SCHEMA}_service`;
const WORKER = `rmm_test_${SCHEMA}_worker`;

describe('rowSecurityProblems', () => {
  let fleet: PersistenceTestDatabase;

  beforeAll(async () => {
    fleet = await PersistenceTestDatabase.start();
    await fleet.admin(`set search_path = ${SCHEMA}`);
  });
  afterAll(() => fleet.stop());

  it('finds nothing in a schema created by tenantTable', async () => {
    expect(await rowSecurityProblems(fleet.worker, SCHEMA)).toEqual([]);
  });

  it.each<[string, string, string, string]>([
    [
      'a table without row-level security',
      'create table $S.bare (id int)',
      'drop table $S.bare',
      'bare: row-level security is not enabled',
    ],
    [
      'row-level security that was turned off',
      'alter table $S.device disable row level security',
      'alter table $S.device enable row level security',
      'device: row-level security is not enabled',
    ],
    [
      'a table that is not forced',
      'alter table $S.device no force row level security',
      'alter table $S.device force row level security',
      'device: row-level security is not forced',
    ],
    [
      'a missing policy of the service',
      'alter policy service_delete on $S.device to $W',
      'alter policy service_delete on $S.device to $V',
      `device: no policy for delete by ${SERVICE}`,
    ],
    [
      'a tenant table without policies',
      'create table $S.quiet (id int); alter table $S.quiet enable row level security, force row level security',
      'drop table $S.quiet',
      'quiet: has no policies for the service login: mark it worker-only if that is intended',
    ],
    [
      'a policy that shows every tenant',
      'create policy oops on $S.device for select to $V using (true)',
      'drop policy oops on $S.device',
      `device: policy oops gives ${SERVICE} the rows of every tenant`,
    ],
    [
      'a policy that a setting opens',
      `create policy oops on $S.device for select to $V using (current_setting('rmm.scope', true) = 'system')`,
      'drop policy oops on $S.device',
      `device: policy oops gives ${SERVICE} system scope by a setting`,
    ],
    [
      'a policy for every role',
      `create policy oops on $S.device for select using (name = 'x')`,
      'drop policy oops on $S.device',
      'device: policy oops applies to every role',
    ],
    [
      'a grant to PUBLIC',
      'grant select on $S.device to public',
      'revoke select on $S.device from public',
      'device: SELECT is granted to PUBLIC',
    ],
    [
      'a grant beyond the four commands',
      'grant truncate on $S.device to $V',
      'revoke truncate on $S.device from $V',
      `device: TRUNCATE is granted to ${SERVICE}`,
    ],
    [
      'a grant that may be passed on',
      'grant select on $S.device to $V with grant option',
      'revoke grant option for select on $S.device from $V',
      `device: ${SERVICE} may pass on SELECT`,
    ],
    [
      'a grant of the worker without a policy',
      'grant delete on $S.device to $W',
      'revoke delete on $S.device from $W',
      `device: ${WORKER} may delete, but no policy allows a row`,
    ],
    [
      'a grant on one column of a worker-only table',
      'grant select (body) on $S.message to $V',
      'revoke select (body) on $S.message from $V',
      `message: is marked rmm:worker-only, but ${SERVICE} may select`,
    ],
    [
      'a service that writes a global table',
      'grant update on $S.vendor to $V',
      'revoke update on $S.vendor from $V',
      `vendor: is marked rmm:global, but ${SERVICE} may update`,
    ],
    [
      'a service that has the policies of the worker',
      'create policy worker_more on $S.device for select to $V using (true)',
      'drop policy worker_more on $S.device',
      `${SERVICE} has the policies of both logins`,
    ],
    [
      'a view with the eyes of its owner',
      'create view $S.peek as select * from $S.device; grant select on $S.peek to $V',
      'drop view $S.peek',
      'peek: a view must have security_invoker',
    ],
    [
      'a materialized view',
      'create materialized view $S.copy as select * from $S.device; grant select on $S.copy to $V',
      'drop materialized view $S.copy',
      'copy: a materialized view contains rows of all tenants and must not be granted',
    ],
    [
      'a function with the rights of its owner',
      `create function $S.unsafe() returns int language sql security definer as 'select 1'`,
      'drop function $S.unsafe()',
      "unsafe(): PUBLIC may call it with its owner's rights",
    ],
    [
      'a login that owns a table',
      'alter table $S.vendor owner to $V',
      'alter table $S.vendor owner to $O',
      `${SERVICE} owns the schema ${SCHEMA} or something in it, or may become its owner`,
    ],
    [
      'a login that may create',
      'grant create on schema $S to $V',
      'revoke create on schema $S from $V',
      `${SERVICE} may create objects in ${SCHEMA}`,
    ],
    [
      'a grant on a partition',
      `create table $S.part (id int) partition by range (id); alter table $S.part enable row level security, force row level security;
       comment on table $S.part is 'rmm:worker-only'; create table $S.part_1 partition of $S.part default;
       alter table $S.part_1 enable row level security; grant select on $S.part_1 to $V`,
      'drop table $S.part',
      'part_1: a partition must have no grants',
    ],
  ])('finds %s', async (_what, create, undo, expected) => {
    const fill = (sql: string) =>
      sql
        .replaceAll('$S', SCHEMA)
        .replaceAll('$V', SERVICE)
        .replaceAll('$W', WORKER)
        .replaceAll('$O', `rmm_test_${SCHEMA}_owner`);
    await fleet.admin(fill(create));
    try {
      expect(await rowSecurityProblems(fleet.worker, SCHEMA)).toContain(expected);
    } finally {
      await fleet.admin(fill(undo));
    }
    expect(await rowSecurityProblems(fleet.worker, SCHEMA)).toEqual([]);
  });
});
