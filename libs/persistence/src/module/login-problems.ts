import type { Pool } from 'pg';

/** Roles that reach the server's files or programs, and with them every row. */
const SERVER_ROLES = ['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'];

interface LoginFacts {
  name: string;
  rolsuper: boolean;
  rolbypassrls: boolean;
  rolcreaterole: boolean;
  becomes_exempt: boolean;
  becomes_server: boolean;
  becomes_other: boolean;
  schema_found: boolean;
  owns_schema: boolean | null;
  owns_table: boolean;
  may_create: boolean | null;
}

/**
 * Why a runtime login must not be used: row-level security would not bind it, or it could free itself.
 * @param other  the second runtime login, which this one must not be able to become
 * @returns sentences; empty when the login is fit
 */
export async function loginProblems(pool: Pick<Pool, 'query'>, schema: string, other: string): Promise<string[]> {
  const { rows } = await pool.query<LoginFacts>(FACTS, [schema, SERVER_ROLES, other]);
  const facts = rows[0];
  if (facts === undefined) return ['it cannot see its own role'];
  if (facts.rolsuper) return [`${facts.name} is a superuser`];
  const problems: [boolean | null, string][] = [
    [facts.rolbypassrls, 'has BYPASSRLS'],
    [facts.rolcreaterole, 'has CREATEROLE'],
    [facts.becomes_exempt, 'is a member of a superuser or BYPASSRLS role'],
    [facts.becomes_server, `is a member of ${SERVER_ROLES.join(' or ')}`],
    [facts.becomes_other, `is, or is a member of, the other login ${other}`],
    [!facts.schema_found, `finds no schema ${schema}`],
    [facts.owns_schema, `owns the schema ${schema}, or is a member of its owner`],
    [facts.owns_table, `owns a table in ${schema}, or is a member of its owner`],
    [facts.may_create, `may create objects in ${schema}`],
  ];
  return problems.filter(([applies]) => applies === true).map(([, text]) => `${facts.name} ${text}`);
}

const FACTS = `
  select r.rolname as name, r.rolsuper, r.rolbypassrls, r.rolcreaterole,
         exists (select from pg_roles p where p.oid <> r.oid and (p.rolsuper or p.rolbypassrls)
                  and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_exempt,
         exists (select from pg_roles p where p.rolname = any ($2) and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_server,
         exists (select from pg_roles p where p.rolname = $3 and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_other,
         n.oid is not null as schema_found,
         pg_has_role(r.oid, n.nspowner, 'MEMBER') as owns_schema,
         exists (select from pg_class c where c.relnamespace = n.oid and pg_has_role(r.oid, c.relowner, 'MEMBER')) as owns_table,
         has_schema_privilege(r.oid, n.oid, 'CREATE') as may_create
    from pg_roles r left join pg_namespace n on n.nspname = $1
   where r.rolname = current_user`;
