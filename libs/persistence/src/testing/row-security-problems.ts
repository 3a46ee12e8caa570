import type { SqlExecutor } from '../database/sql-executor.js';
import { GLOBAL, WORKER_FUNCTION, WORKER_ONLY } from '../rls/table-markers.js';
import { PRIVILEGES, type Privilege } from '../rls/tenant-table.js';
import { type Catalog, type CatalogPolicy, type CatalogRelation, readCatalog } from './catalog.js';

/**
 * Walks a schema for whatever would let a tenant's row be seen or written by another: a table without row-level
 * security (or not forced), a command without a policy, a policy that is always true, a grant beyond the four commands
 * or to PUBLIC, a grant on a partition, a view or function that looks with its owner's eyes, a login that owns
 * something or is exempt. Tables marked worker-only or global are held to what the marker says.
 *
 * The worker login is known by its policies (`worker_<command>`, as tenantTable makes them); every other role that
 * holds a grant is held to the rules of the service login, which are the strict ones.
 * @param executor  anybody's connection: the catalog is public
 * @returns sentences; empty when all is well. To be expected empty by a spec of every app.
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
  const say = (text: string) => `${relation.name}: ${text}`;
  if (relation.kind === 'materialized view' && grants.length > 0) {
    return [say('a materialized view holds rows of all tenants and must not be granted')];
  }
  if (relation.kind === 'view') {
    return grants.length > 0 && !relation.as_invoker ? [say('a view must be made with security_invoker')] : [];
  }
  const problems = relation.row_security ? [] : [say('row-level security is not enabled')];
  if (relation.kind === 'partition') {
    return grants.length > 0 ? [...problems, say('a partition must carry no grants')] : problems;
  }
  for (const { grantee, privilege, grantable } of grants) {
    const who = grantee ?? 'PUBLIC';
    if (grantee === null) problems.push(say(`${privilege} is granted to PUBLIC`));
    if (!isPrivilege(privilege)) problems.push(say(`${privilege} is granted to ${who}`));
    if (grantable) problems.push(say(`${who} may pass on ${privilege}`));
  }
  const policies = catalog.policies.filter((policy) => policy.relation === relation.name);
  const held = heldBy(grants);
  const judge = isMarked(relation) ? markedTableProblems : tenantTableProblems;
  return [...problems, ...judge(relation, policies, held, workers).map(say)];
}

type Held = Map<string, Set<Privilege>>;

function tenantTableProblems(relation: CatalogRelation, policies: CatalogPolicy[], held: Held, workers: Set<string>) {
  const problems = relation.forced ? [] : ['row-level security is not forced'];
  const strict = new Set([...held.keys(), ...policies.flatMap((p) => p.roles)].filter((role) => !workers.has(role)));
  if (strict.size === 0) problems.push('has no policies for the service login: mark it worker-only if that is meant');
  for (const role of strict) {
    for (const command of PRIVILEGES) {
      if (!covered(policies, role, command)) problems.push(`no policy for ${command} by ${role}`);
    }
    const open = policies.filter((policy) => policy.roles.includes(role) && isAlwaysTrue(policy));
    for (const policy of open) problems.push(`policy ${policy.name} lets ${role} at the rows of every tenant`);
  }
  return [...problems, ...uncoveredGrants(policies, held, workers)];
}

function markedTableProblems(
  { comment }: CatalogRelation,
  policies: CatalogPolicy[],
  held: Held,
  workers: Set<string>,
) {
  const allowed: Privilege = comment === GLOBAL ? 'select' : 'insert';
  const problems = uncoveredGrants(policies, held, new Set(held.keys()));
  for (const [role, privileges] of held) {
    if (workers.has(role)) continue;
    for (const privilege of privileges) {
      if (privilege !== allowed) problems.push(`is marked ${comment}, but ${role} may ${privilege}`);
    }
  }
  return problems;
}

/** A grant without a policy is refused row by row, silently: nobody meant it. */
function uncoveredGrants(policies: CatalogPolicy[], held: Held, roles: Set<string>): string[] {
  return [...held]
    .filter(([role]) => roles.has(role))
    .flatMap(([role, privileges]) =>
      [...privileges]
        .filter((command) => !covered(policies, role, command))
        .map((command) => `${role} may ${command}, but no policy says which rows`),
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
    if (policy.roles.includes('PUBLIC')) problems.push(`${policy.relation}: policy ${policy.name} is for everybody`);
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

function heldBy(grants: Catalog['grants']): Held {
  const held: Held = new Map();
  for (const { grantee, privilege } of grants) {
    if (grantee === null || !isPrivilege(privilege)) continue;
    const privileges = held.get(grantee) ?? new Set();
    held.set(grantee, privileges.add(privilege.toLowerCase() as Privilege));
  }
  return held;
}

function covered(policies: CatalogPolicy[], role: string, command: Privilege): boolean {
  return policies.some((p) => p.permissive && p.roles.includes(role) && (p.command === command || p.command === 'all'));
}

function isAlwaysTrue({ permissive, using, check }: CatalogPolicy): boolean {
  return permissive && (using === 'true' || check === 'true');
}

function isMarked({ comment }: CatalogRelation): boolean {
  return comment === WORKER_ONLY || comment === GLOBAL;
}

function isPrivilege(privilege: string): boolean {
  return (PRIVILEGES as readonly string[]).includes(privilege.toLowerCase());
}
