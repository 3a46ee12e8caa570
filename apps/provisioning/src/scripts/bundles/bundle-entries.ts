import { createHash } from 'node:crypto';
import { DomainError, forEachYielding, ValidationError } from '@rmm/service-kit';
import { readDto } from '@rmm/validation';
import type { UnknownColumn } from '../../import/row-reader.js';
import { nameKey, trimName } from '../../organizations/name-key.js';
import { ScriptFieldsDto } from '../dto/script-fields.dto.js';
import { isNestedAtMost } from '../script-definition.js';
import { UnsupportedBundleVersion } from '../script.errors.js';

export const BUNDLE_VERSION = 1;
export const MAX_BUNDLE_SCRIPTS = 200;
/** Deeper JSON would overflow recursive code. */
const MAX_DEPTH = 64;
const MAX_NAME = 255;
const MAX_WARNINGS = 50;
const MAX_COLUMN_NAME = 100;
const MAX_PROBLEMS = 5;

/** The fields of an entry that are read; others are ignored. */
export const ENTRY_FIELDS = [
  'name',
  'osTypes',
  'language',
  'content',
  'runAs',
  'timeoutSeconds',
  'description',
  'category',
  'tags',
  'parameters',
  'exitCodeSeverityMapping',
] as const satisfies readonly (keyof ScriptFieldsDto)[];
const KNOWN = new Set<string>(ENTRY_FIELDS);

/** An entry of a bundle: its fields, or the reason it is not valid. */
export interface BundleEntry {
  index: number;
  /** Null when the entry has no usable name. */
  name: string | null;
  nameKey: string;
  fields: ScriptFieldsDto | null;
  error: string | null;
}

export interface ReadBundle {
  entries: BundleEntry[];
  warnings: UnknownColumn[];
  /** SHA-256 in hex of the bundle as compact JSON (`JSON.stringify`). */
  sha256: string;
}

/**
 * Reads an untrusted bundle without blocking the event loop. A bad entry has an error and leaves the others alone. Fields
 * of tenancy and of built-in scripts are unknown columns like any other.
 * @throws UnsupportedBundleVersion; ValidationError  without a list of at most 200 scripts, and for JSON nested too deep
 */
export async function readBundle(bundle: Record<string, unknown>): Promise<ReadBundle> {
  const { bundleVersion, scripts, ...others } = bundle;
  if (bundleVersion !== BUNDLE_VERSION) throw new UnsupportedBundleVersion();
  if (!Array.isArray(scripts) || scripts.length > MAX_BUNDLE_SCRIPTS) {
    throw ValidationError.forField('bundle.scripts', `must be a list of at most ${MAX_BUNDLE_SCRIPTS} scripts`);
  }
  for (const [field, value] of Object.entries(others))
    assertShallow(value, `bundle.${field.slice(0, MAX_COLUMN_NAME)}`);
  const entries: BundleEntry[] = [];
  const unknown = new Map<string, number[]>();
  await forEachYielding(scripts as unknown[], (script, index) => {
    assertShallow(script, `bundle.scripts.${index}`);
    entries.push(readEntry(script, index));
    for (const column of unknownColumns(script)) {
      const rows = unknown.get(column);
      if (rows) rows.push(index);
      else if (unknown.size < MAX_WARNINGS) unknown.set(column, [index]);
    }
  });
  const warnings = [...unknown].map(([column, rows]): UnknownColumn => ({ code: 'unknown-column', column, rows }));
  return { entries, warnings, sha256: await bundleSha256(bundle) };
}

function readEntry(given: unknown, index: number): BundleEntry {
  if (!isRecord(given)) return refuse(index, null, 'must be an object');
  const name = typeof given['name'] === 'string' ? trimName(given['name']).slice(0, MAX_NAME) : null;
  const known = Object.fromEntries(Object.entries(given).filter(([field]) => KNOWN.has(field)));
  try {
    const fields = readDto(ScriptFieldsDto, known);
    return { index, name: fields.name, nameKey: nameKey(fields.name), fields, error: null };
  } catch (error) {
    if (error instanceof DomainError) return refuse(index, name, describe(error));
    throw error;
  }
}

const refuse = (index: number, name: string | null, error: string): BundleEntry => ({
  index,
  name: name === '' ? null : name,
  nameKey: '',
  fields: null,
  error,
});

function describe({ fieldErrors = {}, error }: DomainError): string {
  const problems = Object.entries(fieldErrors).map(([field, texts]) => `${field}: ${texts.join(', ')}`);
  return problems.length === 0 ? error : problems.slice(0, MAX_PROBLEMS).join('; ');
}

function unknownColumns(script: unknown): string[] {
  if (!isRecord(script)) return [];
  const names = Object.keys(script).filter((name) => !KNOWN.has(name));
  return [...new Set(names.slice(0, MAX_WARNINGS).map((name) => name.slice(0, MAX_COLUMN_NAME)))];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function assertShallow(value: unknown, field: string): void {
  if (!isNestedAtMost(value, MAX_DEPTH)) throw ValidationError.forField(field, 'must not be nested so deeply');
}

/** Hashes the text of `JSON.stringify` script by script. */
async function bundleSha256(bundle: Record<string, unknown>): Promise<string> {
  const hash = createHash('sha256');
  let separator = '{';
  for (const [field, value] of Object.entries(bundle)) {
    hash.update(`${separator}${JSON.stringify(field)}:`);
    separator = ',';
    if (field !== 'scripts' || !Array.isArray(value)) {
      hash.update(JSON.stringify(value));
      continue;
    }
    await forEachYielding(value as unknown[], (script, index) => {
      hash.update((index === 0 ? '[' : ',') + JSON.stringify(script));
    });
    hash.update(value.length === 0 ? '[]' : ']');
  }
  return hash.update('}').digest('hex');
}
