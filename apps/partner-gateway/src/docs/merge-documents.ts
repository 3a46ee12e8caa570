import type { OpenAPIObject } from '@nestjs/swagger';

/** The document of one service. */
export interface NamedDocument {
  name: string;
  document: OpenAPIObject;
}

type Json = Record<string, unknown>;
const METHODS = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options']);
const SCHEMA_REF = '#/components/schemas/';

/**
 * Merges documents. Equal schemas are shared; of two different ones with the same name the later gets its service as a
 * prefix, as does an operation id that is taken.
 * @param head title, description, servers and the like of the whole
 */
export function mergeDocuments(head: OpenAPIObject, documents: readonly NamedDocument[]): OpenAPIObject {
  const merged: OpenAPIObject = { ...head, paths: {}, components: { schemas: {} } };
  const tags = new Map<string, string | undefined>();
  const operationIds = new Set<string>();
  for (const { name, document } of documents) {
    const renamed = addSchemas(merged, name, document);
    const { paths, components, tags: ownTags } = withRefs(document, renamed) as OpenAPIObject;
    addShared(merged, components);
    for (const tag of ownTags ?? []) tags.set(tag.name, tag.description);
    for (const [path, item] of Object.entries(paths ?? {})) {
      for (const operation of operationsOf(item)) {
        operation.operationId = freeId(operationIds, operation.operationId, name);
        for (const tag of operation.tags ?? []) tags.set(tag, tags.get(tag));
      }
      merged.paths[path] = { ...item, ...merged.paths[path] };
    }
  }
  const byName = [...tags].sort(([a], [b]) => a.localeCompare(b, 'en'));
  return { ...merged, tags: byName.map(([name, description]) => ({ name, ...(description && { description }) })) };
}

function operationsOf(item: object): { operationId?: string; tags?: string[] }[] {
  return Object.entries(item)
    .filter(([method]) => METHODS.has(method))
    .map(([, operation]) => operation as { operationId?: string; tags?: string[] });
}

/** Components that are the same in every service. */
const SHARED = ['securitySchemes', 'headers', 'responses'] as const;

function addShared(merged: OpenAPIObject, components: OpenAPIObject['components']): void {
  const all = (merged.components ?? {}) as Record<string, Json>;
  for (const kind of SHARED) {
    if (components?.[kind]) all[kind] = { ...all[kind], ...(components[kind] as Json) };
  }
}

/** @returns the old and new names of renamed schemas */
function addSchemas(merged: OpenAPIObject, service: string, document: OpenAPIObject): Map<string, string> {
  const known = (merged.components?.schemas ?? {}) as Json;
  const schemas = (document.components?.schemas ?? {}) as Json;
  const renamed = new Map<string, string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const taken = known[name];
    if (taken !== undefined && JSON.stringify(taken) !== JSON.stringify(schema))
      renamed.set(name, prefixed(service, name));
  }
  for (const [name, schema] of Object.entries(schemas)) known[renamed.get(name) ?? name] ??= withRefs(schema, renamed);
  return renamed;
}

function freeId(taken: Set<string>, id: string | undefined, service: string): string | undefined {
  if (id === undefined) return undefined;
  const free = taken.has(id) ? prefixed(service, id) : id;
  taken.add(free);
  return free;
}

const prefixed = (service: string, name: string) =>
  `${service.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())}${name}`;

/** Returns a deep copy with references to the renamed schemas. */
function withRefs(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withRefs(item, renamed));
  if (typeof value !== 'object' || value === null) return value;
  const copy: Json = {};
  for (const [key, field] of Object.entries(value)) {
    const isRef = key === '$ref' && typeof field === 'string' && field.startsWith(SCHEMA_REF);
    copy[key] = isRef ? SCHEMA_REF + newName(field.slice(SCHEMA_REF.length), renamed) : withRefs(field, renamed);
  }
  return copy;
}

const newName = (name: string, renamed: ReadonlyMap<string, string>) => renamed.get(name) ?? name;
