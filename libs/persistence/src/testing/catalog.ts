import type { SqlExecutor } from '../database/sql-executor.js';

/** A table, view or partition of a schema, as the catalog has it. */
export interface CatalogRelation {
  name: string;
  kind: 'table' | 'partition' | 'view' | 'materialized view';
  owner: string;
  comment: string | null;
  row_security: boolean;
  forced: boolean;
  /** A view that looks with its caller's rights. */
  as_invoker: boolean;
}

export interface CatalogGrant {
  relation: string;
  /** null for PUBLIC. */
  grantee: string | null;
  /** `SELECT`, `TRUNCATE`, ... */
  privilege: string;
  grantable: boolean;
}

export interface CatalogPolicy {
  relation: string;
  name: string;
  /** Role names; `PUBLIC` for everybody. */
  roles: string[];
  /** `all` for the four of them. */
  command: 'select' | 'insert' | 'update' | 'delete' | 'all';
  permissive: boolean;
  using: string | null;
  check: string | null;
}

export interface CatalogRole {
  name: string;
  exempt: boolean;
  /** Is, or may become, the owner of the schema or of something in it. */
  owns: boolean;
  creates: boolean;
}

export interface CatalogFunction {
  name: string;
  grantee: string | null;
  /** Its comment. */
  marker: string | null;
}

export interface Catalog {
  relations: CatalogRelation[];
  grants: CatalogGrant[];
  policies: CatalogPolicy[];
  /** Those who hold a grant or are named by a policy, owners aside. */
  roles: CatalogRole[];
  /** SECURITY DEFINER functions, by who may call them. */
  definers: CatalogFunction[];
}

export async function readCatalog(executor: SqlExecutor, schema: string): Promise<Catalog> {
  const ask = <Row>(sql: string, ...more: unknown[]) => executor.query<Row>(sql, [schema, ...more]);
  const relations = await ask<CatalogRelation>(RELATIONS);
  const grants = await ask<CatalogGrant>(GRANTS);
  const policies = await ask<CatalogPolicy>(POLICIES);
  const named = [...grants.map((grant) => grant.grantee), ...policies.flatMap((policy) => policy.roles)];
  const roles = await ask<CatalogRole>(ROLES, [...new Set(named.filter((name) => name !== null))]);
  return { relations, grants, policies, roles, definers: await ask<CatalogFunction>(DEFINERS) };
}

const RELATIONS = `
  select c.relname as name, pg_get_userbyid(c.relowner) as owner, obj_description(c.oid, 'pg_class') as comment,
         c.relrowsecurity as row_security, c.relforcerowsecurity as forced,
         case when c.relkind = 'v' then 'view' when c.relkind = 'm' then 'materialized view'
              when c.relispartition then 'partition' else 'table' end as kind,
         coalesce(c.reloptions::text[] && array['security_invoker=true', 'security_invoker=on'], false) as as_invoker
    from pg_class c
   where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p', 'v', 'm', 'f')
   order by c.relname`;

const GRANTS = `
  select c.relname as relation, nullif(acl.grantee, 0)::regrole::text as grantee, acl.privilege_type as privilege,
         acl.is_grantable as grantable
    from pg_class c
    left join pg_attribute a on a.attrelid = c.oid and a.attacl is not null
   cross join lateral (select * from aclexplode(c.relacl) union select * from aclexplode(a.attacl)) acl
   where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p', 'v', 'm', 'f')
     and acl.grantee <> c.relowner
   order by 1, 2, 3`;

const POLICIES = `
  select c.relname as relation, p.polname as name, p.polpermissive as permissive,
         array(select case when r = 0 then 'PUBLIC' else r::regrole::text end from unnest(p.polroles) r) as roles,
         case p.polcmd when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
                       else 'all' end as command,
         pg_get_expr(p.polqual, p.polrelid) as using, pg_get_expr(p.polwithcheck, p.polrelid) as check
    from pg_policy p join pg_class c on c.oid = p.polrelid
   where c.relnamespace = to_regnamespace(quote_ident($1))
   order by 1, 2`;

const ROLES = `
  select r.oid::regrole::text as name, r.rolsuper or r.rolbypassrls or r.rolcreaterole as exempt,
         pg_has_role(r.oid, n.nspowner, 'MEMBER')
           or exists (select from pg_class c where c.relnamespace = n.oid and pg_has_role(r.oid, c.relowner, 'MEMBER')) as owns,
         has_schema_privilege(r.oid, n.oid, 'CREATE') as creates
    from pg_roles r, pg_namespace n
   where n.nspname = $1 and r.oid::regrole::text = any ($2)
   order by 1`;

const DEFINERS = `
  select p.proname as name, nullif(acl.grantee, 0)::regrole::text as grantee,
         obj_description(p.oid, 'pg_proc') as marker
    from pg_proc p
   cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) acl
   where p.pronamespace = to_regnamespace(quote_ident($1)) and p.prosecdef and acl.grantee <> p.proowner
   order by 1, 2`;
