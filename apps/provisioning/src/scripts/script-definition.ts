import { createHash } from 'node:crypto';
import type { ScriptColumns } from './script.entity.js';

/** The fields that decide what a device runs. A change of them makes a new version of the script. */
export type ScriptDefinition = Pick<
  ScriptColumns,
  'osTypes' | 'language' | 'content' | 'parameters' | 'runAs' | 'timeoutSeconds' | 'exitCodeSeverityMapping'
>;

/** Returns the SHA-256 of a definition in hex; the order of keys and operating systems does not change it. */
export function definitionSha256(definition: ScriptDefinition): string {
  const { osTypes, language, content, parameters, runAs, timeoutSeconds, exitCodeSeverityMapping } = definition;
  const parts = [[...osTypes].sort(), language, parameters, runAs, timeoutSeconds, exitCodeSeverityMapping];
  const hash = createHash('sha256').update(JSON.stringify(parts.map(withSortedKeys)));
  return hash.update('\n').update(content).digest('hex');
}

/** The database sorts the keys of JSON columns by its own rules. */
function withSortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, withSortedKeys(item)]));
}

/** Returns true when objects and lists are nested at most `depth` deep; a plain value has depth 0. */
export function isNestedAtMost(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isNestedAtMost(item, depth - 1));
}
