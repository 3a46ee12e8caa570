import type { SqlExecutor } from '../database/sql-executor.js';
import { GLOBAL, WORKER_FUNCTION, WORKER_ONLY } from '../rls/table-markers.js';
import { PRIVILEGES, type Privilege } from '../rls/tenant-table.js';
import { type Catalog, type CatalogPolicy, type CatalogRelation, readCatalog } from './catalog.js';

/**
 * Checks a schema for anything that gives a tenant access to another tenant's rows: a table without row-level security
 * (or not forced), a command without a policy, a policy that is always true or opened by a setting alone, a grant beyond the four commands or to
 * PUBLIC, a grant on a partition, a view or function with the rights of its owner, a login that owns something or is
 * exempt. Tables marked worker-only or global are checked against their marker.
 *
 * The worker login is recognized by the names of its policies (`worker_<command>`); every other role with a grant is
 * checked by the rules of the service login, which are the strict ones.
 * @param executor any connection: the catalog is public
 * @returns sentences; empty when there is no problem. The spec of every app expects an empty list.
 */
export async function rowSecurityProblems(executor: SqlExecutor, schema: string): Promise<string[]> {
  const catalog = await readCatalog(executor, schema);
  const workers = workerRoles(catalog.policies);
  return [
    ...catalog.relations.flatMap((relation) => relationProblems(relation, catalog, workers)),
    ...roleProblems(catalog, schema),
    ...definerProblems(catalog, workers),
  ];
}

function relationProblems(relation: CatalogRelation, catalog: Catalog, workers: Set<string>): string[] {
  const grants = catalog.grants.filter((grant) => grant.relation === relation.name);
  const describe = (text: string) => `${relation.name}: ${text}`;
  if (relation.kind === 'materialized view' && grants.length > 0) {
    return [describe('a materialized view contains rows of all tenants and must not be granted')];
  }
  if (relation.kind === 'view') {
    return grants.length > 0 && !relation.as_invoker ? [describe('a view must have security_invoker')] : [];
  }
  const problems = relation.row_security ? [] : [describe('row-level security is not enabled')];
  if (relation.kind === 'partition') {
    return grants.length > 0 ? [...problems, describe('a partition must have no grants')] : problems;
  }
  for (const { grantee, privilege, grantable } of grants) {
    const who = grantee ?? 'PUBLIC';
    if (grantee === null) problems.push(describe(`${privilege} is granted to PUBLIC`));
    if (!isPrivilege(privilege)) problems.push(describe(`${privilege} is granted to ${who}`));
    if (grantable) problems.push(describe(`${who} may pass on ${privilege}`));
  }
  const policies = catalog.policies.filter((policy) => policy.relation === relation.name);
  const granted = privilegesByRole(grants);
  const check = isMarked(relation) ? markedTableProblems : tenantTableProblems;
  return [...problems, ...check(relation, policies, granted, workers).map(describe)];
}

type Granted = Map<string, Set<Privilege>>;

function tenantTableProblems(
  relation: CatalogRelation,
  policies: CatalogPolicy[],
  granted: Granted,
  workers: Set<string>,
) {
  const problems = relation.forced ? [] : ['row-level security is not forced'];
  const strict = new Set([...granted.keys(), ...policies.flatMap((p) => p.roles)].filter((role) => !workers.has(role)));
  if (strict.size === 0)
    problems.push('has no policies for the service login: mark it worker-only if that is intended');
  for (const role of strict) {
    for (const command of PRIVILEGES) {
      if (!covered(policies, role, command)) problems.push(`no policy for ${command} by ${role}`);
    }
    const open = policies.filter((policy) => policy.roles.includes(role) && isAlwaysTrue(policy));
    for (const policy of open) problems.push(`policy ${policy.name} gives ${role} the rows of every tenant`);
    const bySetting = policies.filter((policy) => policy.roles.includes(role) && isOpenedBySetting(policy));
    for (const policy of bySetting) problems.push(`policy ${policy.name} gives ${role} system scope by a setting`);
  }
  return [...problems, ...uncoveredGrants(policies, granted, workers)];
}

function markedTableProblems(
  { comment }: CatalogRelation,
  policies: CatalogPolicy[],
  granted: Granted,
  workers: Set<string>,
) {
  const allowed: Privilege = comment === GLOBAL ? 'select' : 'insert';
  const problems = uncoveredGrants(policies, granted, new Set(granted.keys()));
  for (const [role, privileges] of granted) {
    if (workers.has(role)) continue;
    for (const privilege of privileges) {
      if (privilege !== allowed) problems.push(`is marked ${comment}, but ${role} may ${privilege}`);
    }
  }
  return problems;
}

/** Lists grants without a policy, which silently match no row. */
function uncoveredGrants(policies: CatalogPolicy[], granted: Granted, roles: Set<string>): string[] {
  return [...granted]
    .filter(([role]) => roles.has(role))
    .flatMap(([role, privileges]) =>
      [...privileges]
        .filter((command) => !covered(policies, role, command))
        .map((command) => `${role} may ${command}, but no policy allows a row`),
    );
}

function roleProblems({ roles, policies }: Catalog, schema: string): string[] {
  const problems = roles.flatMap(({ name, exempt, owns, creates }) => [
    ...(exempt ? [`${name} is exempt from row-level security, or may make itself so`] : []),
    ...(owns ? [`${name} owns the schema ${schema} or something in it, or may become its owner`] : []),
    ...(creates ? [`${name} may create objects in ${schema}`] : []),
  ]);
  const workers = workerRoles(policies);
  const both = new Set(policies.filter((p) => !p.name.startsWith('worker_')).flatMap((p) => p.roles));
  for (const role of workers) if (both.has(role)) problems.push(`${role} has the policies of both logins`);
  for (const policy of policies) {
    if (policy.roles.includes('PUBLIC'))
      problems.push(`${policy.relation}: policy ${policy.name} applies to every role`);
  }
  return problems;
}

function definerProblems({ definers }: Catalog, workers: Set<string>): string[] {
  return definers
    .filter(({ marker, grantee }) => marker !== WORKER_FUNCTION || grantee === null || !workers.has(grantee))
    .map(({ name, grantee }) => `${name}(): ${grantee ?? 'PUBLIC'} may call it with its owner's rights`);
}

function workerRoles(policies: CatalogPolicy[]): Set<string> {
  return new Set(policies.filter((policy) => policy.name.startsWith('worker_')).flatMap((policy) => policy.roles));
}

function privilegesByRole(grants: Catalog['grants']): Granted {
  const granted: Granted = new Map();
  for (const { grantee, privilege } of grants) {
    if (grantee === null || !isPrivilege(privilege)) continue;
    const privileges = granted.get(grantee) ?? new Set();
    granted.set(grantee, privileges.add(privilege.toLowerCase() as Privilege));
  }
  return granted;
}

function covered(policies: CatalogPolicy[], role: string, command: Privilege): boolean {
  return policies.some((p) => p.permissive && p.roles.includes(role) && (p.command === command || p.command === 'all'));
}

function isAlwaysTrue({ permissive, using, check }: CatalogPolicy): boolean {
  return permissive && (using === 'true' || check === 'true');
}

/** True for a policy that asks for system scope and not for the platform login. */
function isOpenedBySetting({ using, check }: CatalogPolicy): boolean {
  return [using, check].some((condition) => condition?.includes(`'system'`) && !/session_user/i.test(condition));
}

function isMarked({ comment }: CatalogRelation): boolean {
  return comment === WORKER_ONLY || comment === GLOBAL;
}

function isPrivilege(privilege: string): boolean {
  return (PRIVILEGES as readonly string[]).includes(privilege.toLowerCase());
}
