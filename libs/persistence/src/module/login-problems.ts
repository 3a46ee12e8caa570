import type { Pool } from 'pg';

/** Roles with access to the server's files or programs, and so to every row. */
const SERVER_ROLES = ['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files'];

interface LoginRow {
  name: string;
  rolsuper: boolean;
  rolbypassrls: boolean;
  rolcreaterole: boolean;
  becomes_exempt: boolean;
  becomes_server: boolean;
  becomes_other: boolean;
  acts_as: boolean;
  inherits: boolean;
  schema_found: boolean;
  owns_schema: boolean | null;
  owns_table: boolean;
  may_create: boolean | null;
}

export interface LoginRules {
  schema: string;
  /** The worker login, in whose sessions a service login would see all tenants. */
  mustNotBecome?: string;
  /** The service login, in whose role the worker login serves platform administrators, and whose rights it has then only. */
  mustActAs?: string;
}

/**
 * Lists why a runtime login must not be used: row-level security does not apply to it, or it could bypass it.
 * @returns sentences; empty when the login may be used
 */
export async function loginProblems(
  pool: Pick<Pool, 'query'>,
  { schema, mustNotBecome = '', mustActAs }: LoginRules,
): Promise<string[]> {
  const { rows } = await pool.query<LoginRow>(LOGIN, [schema, SERVER_ROLES, mustNotBecome, mustActAs ?? '']);
  const login = rows[0];
  if (login === undefined) return ['it cannot see its own role'];
  if (login.rolsuper) return [`${login.name} is a superuser`];
  const problems: [boolean | null, string][] = [
    [login.rolbypassrls, 'has BYPASSRLS'],
    [login.rolcreaterole, 'has CREATEROLE'],
    [login.becomes_exempt, 'is a member of a superuser or BYPASSRLS role'],
    [login.becomes_server, `is a member of ${SERVER_ROLES.join(' or ')}`],
    [login.becomes_other, `is, or is a member of, the other login ${mustNotBecome}`],
    [mustActAs === login.name, `is the other login ${login.name}`],
    [mustActAs !== undefined && !login.acts_as, `may not act as ${mustActAs}: GRANT ${mustActAs} TO ${login.name}`],
    [
      login.inherits,
      `has the rights of ${mustActAs} at all times: ALTER ROLE ${login.name} NOINHERIT, and grant again`,
    ],
    [!login.schema_found, `finds no schema ${schema}`],
    [login.owns_schema, `owns the schema ${schema}, or is a member of its owner`],
    [login.owns_table, `owns a table in ${schema}, or is a member of its owner`],
    [login.may_create, `may create objects in ${schema}`],
  ];
  return problems.filter(([applies]) => applies === true).map(([, text]) => `${login.name} ${text}`);
}

const LOGIN = `
  select r.rolname as name, r.rolsuper, r.rolbypassrls, r.rolcreaterole,
         exists (select from pg_roles p where p.oid <> r.oid and (p.rolsuper or p.rolbypassrls)
                  and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_exempt,
         exists (select from pg_roles p where p.rolname = any ($2) and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_server,
         exists (select from pg_roles p where p.rolname = $3 and pg_has_role(r.oid, p.oid, 'MEMBER')) as becomes_other,
         exists (select from pg_roles p where p.rolname = $4 and pg_has_role(r.oid, p.oid, 'MEMBER')) as acts_as,
         exists (select from pg_roles p where p.rolname = $4 and p.oid <> r.oid and pg_has_role(r.oid, p.oid, 'USAGE')) as inherits,
         n.oid is not null as schema_found,
         pg_has_role(r.oid, n.nspowner, 'MEMBER') as owns_schema,
         exists (select from pg_class c where c.relnamespace = n.oid and pg_has_role(r.oid, c.relowner, 'MEMBER')) as owns_table,
         has_schema_privilege(r.oid, n.oid, 'CREATE') as may_create
    from pg_roles r left join pg_namespace n on n.nspname = $1
   where r.rolname = current_user`;
