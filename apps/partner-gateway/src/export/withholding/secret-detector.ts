import { hasCredentialText, isReference } from './credential-texts.js';
import { hasRandomText } from './random-text.js';
import { rememberNames } from './remembered-names.js';
import { isNumericSecretName, isSecretFieldName, isSecretLabel } from './secret-names.js';
import { hasKnownSecret } from './secret-patterns.constants.js';

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
  search.readObject(record, false);
  return search.paths;
}

interface TextChecks {
  hasSecret: (text: string) => boolean;
  isSecretKey: (key: string) => boolean;
}

const textChecks = (hasSecret: TextChecks['hasSecret']): TextChecks => ({
  hasSecret,
  isSecretKey: rememberNames((key) => key.length >= MIN_SECRET_KEY && hasSecret(key)),
});

const MACHINE_TEXT = textChecks((text) => hasKnownSecret(text) || hasCredentialText(text));
const ANY_TEXT = textChecks((text) => MACHINE_TEXT.hasSecret(text) || hasRandomText(text));

/** One search through one record. */
class SecretSearch {
  readonly paths: string[] = [];
  /** The keys that lead to the value that is read. */
  private readonly keys: string[] = [];
  private nodes = 0;
  private readonly checks: TextChecks;

  constructor({ isMachineObserved = false }: DetectionOptions) {
    this.checks = isMachineObserved ? MACHINE_TEXT : ANY_TEXT;
  }

  /** @param isSecret  whether a field with the name of a secret contains this object */
  readObject(object: object, isSecret: boolean): void {
    const isList = Array.isArray(object);
    const isRecord = this.keys.length === 0;
    for (const key of Object.keys(object)) {
      if (this.isComplete) return;
      if (isRecord && BASE_FIELDS.has(key)) continue;
      const value = object[key as keyof typeof object] as unknown;
      this.keys.push(key);
      if (isList) this.readValue(value, isSecret ? '' : null);
      else if (this.checks.isSecretKey(key)) this.report();
      else this.readValue(value, secretNameFor(key, object, isSecret));
      this.keys.pop();
    }
  }

  /** @param secretName  the name under which the value is a secret; null when it has none */
  private readValue(value: unknown, secretName: string | null): void {
    this.nodes += 1;
    if (this.nodes > MAX_NODES || this.keys.length > MAX_DEPTH) {
      this.nodes = Infinity;
      this.report();
    } else if (typeof value === 'object' && value !== null) {
      this.readObject(value, secretName !== null);
    } else if (typeof value === 'string') {
      if (secretName !== null ? isSecretText(value) : this.checks.hasSecret(value)) this.report();
    } else if (secretName !== null && isSecretNumber(value, secretName)) {
      this.report();
    }
  }

  /** True when there is nothing to add: enough paths, or a limit was exceeded. */
  private get isComplete(): boolean {
    return this.paths.length >= MAX_PATHS || this.nodes === Infinity;
  }

  private report(): void {
    const isSafe = (key: string) => SAFE_SEGMENT.test(key) && !this.checks.isSecretKey(key);
    const segments = this.keys.map((key) => (isSafe(key) ? key : '*'));
    this.paths.push(segments.join('.').slice(0, MAX_PATH_CHARACTERS));
  }
}

/** Returns the first text that names the value of an object and is the name of a secret. */
function labelOf(object: object): string | undefined {
  const fields = object as Readonly<Record<string, unknown>>;
  const labels = LABEL_FIELDS.map((field) => fields[field]);
  return labels.find((label): label is string => typeof label === 'string' && isSecretLabel(label));
}

function secretNameFor(key: string, object: object, isSecret: boolean): string | null {
  if (isSecretFieldName(key)) return key;
  return (VALUE_FIELDS.has(key) ? labelOf(object) : undefined) ?? (isSecret ? '' : null);
}

/** A masked or empty value is no secret, nor is a variable. */
function isSecretText(text: string): boolean {
  return text.trim() !== '' && !isReference(text);
}

function isSecretNumber(value: unknown, name: string): boolean {
  return typeof value === 'number' && isNumericSecretName(name);
}
