import { hasCredentialText, isReference } from './credential-texts.js';
import { hasRandomText } from './random-text.js';
import { isNumericSecretName, isSecretFieldName, isSecretLabel } from './secret-names.js';
import { hasKnownSecret } from './secret-patterns.js';

export interface DetectionOptions {
  /** Skips the search for random-looking text, which serial numbers and versions of programs would match. */
  isMachineObserved?: boolean;
}

/** The fields that the gateway adds or checks itself: ids, times, hashes. */
const BASE_FIELDS = new Set(['id', 'orgId', 'siteId', 'sourceUpdatedAt', 'revision']);

const MAX_DEPTH = 32;
const MAX_NODES = 100_000;
const MAX_PATHS = 20;
const MAX_PATH_CHARACTERS = 256;
const SAFE_SEGMENT = /^[A-Za-z0-9_-]{1,64}$/;
/** A key of this length may be a secret itself. */
const MIN_SECRET_KEY = 12;

/** Fields that name what a value in the same object is: `{ name: 'Wi-Fi password', value: '...' }`. */
const LABEL_FIELDS = ['name', 'fieldKey', 'key', 'label', 'variable', 'header', 'parameter', 'property'];
const VALUE_FIELDS = new Set(['value', 'values', 'defaultValue', 'default']);

/**
 * Finds the fields of a record that contain a secret: by their name, by the form of their text, or because they could not be
 * checked within the limits of depth and number of values. Neither a value nor anything derived from one is returned.
 * @returns at most 20 paths such as `contact.name`; a segment that may contain a secret itself is `*`
 */
export function findSecretPaths(record: object, options: DetectionOptions = {}): string[] {
  const search = new SecretSearch(options);
  search.readObject(record, [], false);
  return search.paths;
}

/** One search through one record. */
class SecretSearch {
  readonly paths: string[] = [];
  private nodes = 0;
  private readonly seesRandomText: boolean;

  constructor({ isMachineObserved = false }: DetectionOptions) {
    this.seesRandomText = !isMachineObserved;
  }

  /** @param isSecret  whether a field with the name of a secret contains this object */
  readObject(object: object, path: readonly string[], isSecret: boolean): void {
    const isList = Array.isArray(object);
    const names = isList ? [] : secretNamesOf(object);
    for (const [key, value] of Object.entries(object)) {
      if (this.isComplete) return;
      if (path.length === 0 && BASE_FIELDS.has(key)) continue;
      if (isList) {
        this.readValue(value, [...path, key], isSecret ? '' : null);
        continue;
      }
      const isUnsafeKey = key.length >= MIN_SECRET_KEY && this.containsSecret(key);
      const segment = isUnsafeKey || !SAFE_SEGMENT.test(key) ? '*' : key;
      if (isUnsafeKey) this.report([...path, segment]);
      else this.readValue(value, [...path, segment], secretNameFor(key, names, isSecret));
    }
  }

  /** @param secretName  the name under which the value is a secret; null when it has none */
  private readValue(value: unknown, path: readonly string[], secretName: string | null): void {
    this.nodes += 1;
    if (this.nodes > MAX_NODES || path.length > MAX_DEPTH) {
      this.nodes = Infinity;
      this.report(path);
    } else if (typeof value === 'object' && value !== null) {
      this.readObject(value, path, secretName !== null);
    } else if (typeof value === 'string') {
      if (secretName !== null ? isSecretText(value) : this.containsSecret(value)) this.report(path);
    } else if (secretName !== null && isSecretNumber(value, secretName)) {
      this.report(path);
    }
  }

  private containsSecret(text: string): boolean {
    return hasKnownSecret(text) || hasCredentialText(text) || (this.seesRandomText && hasRandomText(text));
  }

  /** True when there is nothing to add: enough paths, or a limit was exceeded. */
  private get isComplete(): boolean {
    return this.paths.length >= MAX_PATHS || this.nodes === Infinity;
  }

  private report(path: readonly string[]): void {
    this.paths.push(path.join('.').slice(0, MAX_PATH_CHARACTERS));
  }
}

/** Returns the texts that name the value of an object, when one of them is the name of a secret. */
function secretNamesOf(object: object): string[] {
  const fields = object as Readonly<Record<string, unknown>>;
  return LABEL_FIELDS.map((field) => fields[field]).filter(
    (name): name is string => typeof name === 'string' && isSecretLabel(name),
  );
}

function secretNameFor(key: string, names: readonly string[], isSecret: boolean): string | null {
  if (isSecretFieldName(key)) return key;
  if (VALUE_FIELDS.has(key) && names.length > 0) return names[0];
  return isSecret ? '' : null;
}

/** A masked or empty value is no secret, nor is a variable. */
function isSecretText(text: string): boolean {
  return text.trim() !== '' && !isReference(text);
}

function isSecretNumber(value: unknown, name: string): boolean {
  return typeof value === 'number' && isNumericSecretName(name);
}
