import { attributeOf, toScimObject } from './scim-attributes.js';
import { MAX_OPERATIONS, PATCH_SCHEMA } from './scim.config.js';
import { ScimBadRequest } from './scim.errors.js';

const MAX_PATH = 512;
const OPS = ['add', 'remove', 'replace'] as const;

export interface PatchOperation {
  op: (typeof OPS)[number];
  /** Absent: the value is an object of attributes. */
  path?: string;
  value: unknown;
}

/** Reads the operations of a PATCH; `op` is of any case. @throws ScimBadRequest */
export function readOperations(body: unknown): PatchOperation[] {
  const request = toScimObject(body, 'The body');
  const schemas = attributeOf(request, 'schemas');
  if (!Array.isArray(schemas) || !schemas.includes(PATCH_SCHEMA)) {
    throw new ScimBadRequest('invalidSyntax', `schemas must contain ${PATCH_SCHEMA}`);
  }
  const operations = attributeOf(request, 'Operations');
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new ScimBadRequest('invalidSyntax', 'Operations must be a list of operations');
  }
  if (operations.length > MAX_OPERATIONS) {
    throw new ScimBadRequest('tooMany', `Operations has more than ${MAX_OPERATIONS} values`);
  }
  return operations.map(readOperation);
}

function readOperation(given: unknown): PatchOperation {
  const operation = toScimObject(given, 'An operation');
  const name = attributeOf(operation, 'op');
  const op = typeof name === 'string' ? OPS.find((known) => known === name.toLowerCase()) : undefined;
  if (!op) throw new ScimBadRequest('invalidSyntax', 'op must be add, remove or replace');
  const path = attributeOf(operation, 'path');
  if (path !== undefined && (typeof path !== 'string' || path.length > MAX_PATH)) {
    throw new ScimBadRequest('invalidPath', `path must be a text of at most ${MAX_PATH} characters`);
  }
  const value = attributeOf(operation, 'value');
  if (path === undefined || path === '') {
    if (op === 'remove') throw new ScimBadRequest('noTarget', 'remove needs a path');
    return { op, value: toScimObject(value, 'value') };
  }
  return { op, path, value };
}

const PATH = /^([A-Za-z][A-Za-z0-9_$-]*)(?:\[([^[\]]+)\])?(?:\.([A-Za-z][A-Za-z0-9_$-]*))?$/;

/**
 * Splits `emails[type eq "work"].value` into the attribute, the filter of its values and the attribute of these, both
 * attributes in lower case. @returns null for an attribute of an extension @throws ScimBadRequest invalidPath
 */
export function splitPath(path: string, schema: string): { root: string; selector?: string; sub?: string } | null {
  const isCore = path.toLowerCase().startsWith(`${schema.toLowerCase()}:`);
  const local = isCore ? path.slice(schema.length + 1) : path;
  if (/^urn:/i.test(local)) return null;
  const [, root, selector, sub] = PATH.exec(local.trim()) ?? [];
  if (root === undefined) throw new ScimBadRequest('invalidPath', 'The path cannot be read');
  return { root: root.toLowerCase(), selector, sub: sub?.toLowerCase() };
}
