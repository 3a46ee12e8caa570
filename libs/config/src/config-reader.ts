import { StartRefusal } from '@rmm/errors';
import { parseCidr, type Cidr } from '@rmm/validation';

/** Names every bad variable at once. */
export class ConfigError extends StartRefusal {
  override name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n${problems.map((p) => `  - ${p}`).join('\n')}`);
  }
}

/**
 * Reads the environment once.
 * @param define  reads each variable through the reader and returns the typed object
 * @returns the object, frozen to the bottom
 * @throws ConfigError  listing every problem
 */
export function readConfig<T>(env: NodeJS.ProcessEnv, define: (reader: ConfigReader) => T): Readonly<T> {
  const reader = new ConfigReader(env);
  const config = define(reader);
  if (reader.problems.length > 0) throw new ConfigError(reader.problems);
  return freeze(config);
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return value;
  Object.values(value).forEach(freeze);
  return Object.freeze(value);
}

interface Common<T> {
  default?: T;
  required?: boolean;
}
/** `undefined` only where there is neither a default nor `required: true`. */
type Read<T, O> = O extends { default: T } | { required: true } ? T : T | undefined;

const shown = (value: string) => JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);

/**
 * Reads variables of the environment and collects every problem instead of throwing at the first.
 * An empty string counts as unset. Values are never repeated in problems of secret variables.
 */
export class ConfigReader {
  readonly problems: string[] = [];

  constructor(private readonly env: NodeJS.ProcessEnv) {}

  /** Adds a problem; for rules that span variables. */
  problem(text: string): void {
    this.problems.push(text);
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  /** `secret: true` keeps the value out of the message. */
  string<const O extends Common<string> & { pattern?: RegExp; minLength?: number; secret?: boolean }>(
    name: string,
    options?: O,
  ): Read<string, O> {
    return this.read(name, options, (raw) => {
      const value = options?.secret ? 'its value' : shown(raw);
      if (options?.pattern && !options.pattern.test(raw)) return `must match ${options.pattern.source}, got ${value}`;
      if (options?.minLength && raw.length < options.minLength) {
        return `must have at least ${options.minLength} characters`;
      }
      return { value: raw };
    });
  }

  integer<const O extends Common<number> & { min?: number; max?: number }>(name: string, options?: O): Read<number, O> {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = options ?? {};
    const range = options?.max === undefined ? `an integer of at least ${min}` : `${min} to ${max}`;
    return this.read(name, options, (raw) => {
      const value = /^-?\d{1,15}$/.test(raw) ? Number(raw) : NaN;
      return value >= min && value <= max ? { value } : `must be ${range}, got ${shown(raw)}`;
    });
  }

  boolean<const O extends Common<boolean>>(name: string, options?: O): Read<boolean, O> {
    return this.read(name, options, (raw) => {
      const word = raw.toLowerCase();
      if (word !== 'true' && word !== 'false') return `must be true or false, got ${shown(raw)}`;
      return { value: word === 'true' };
    });
  }

  enum<const V extends string, const O extends Common<NoInfer<V>> & { ignoreCase?: boolean }>(
    name: string,
    values: readonly V[],
    options?: O,
  ): Read<V, O> {
    return this.read(name, options, (raw) => {
      const given = options?.ignoreCase ? raw.toLowerCase() : raw;
      const value = values.find((candidate) => candidate === given);
      return value === undefined ? `must be one of ${values.join(', ')}, got ${shown(raw)}` : { value };
    });
  }

  /** An absolute URL, as it was written; `protocols` without the colon. */
  url<const O extends Common<string> & { protocols?: readonly string[]; secret?: boolean }>(
    name: string,
    options?: O,
  ): Read<string, O> {
    return this.read(name, options, (raw) => {
      const value = options?.secret ? 'something else' : shown(raw);
      if (!URL.canParse(raw)) return `must be an absolute URL, got ${value}`;
      const protocol = new URL(raw).protocol.slice(0, -1);
      if (options?.protocols && !options.protocols.includes(protocol)) {
        return `must be a URL with ${options.protocols.join(' or ')}, got ${protocol}`;
      }
      return { value: raw };
    });
  }

  /** Comma-separated words, trimmed, empty ones dropped. */
  list(
    name: string,
    options?: { default?: readonly string[]; check?: (item: string) => string | null; secret?: boolean },
  ): string[] {
    const raw = this.raw(name);
    if (raw === undefined) return [...(options?.default ?? [])];
    const words = raw.split(',').flatMap((item) => item.trim() || []);
    for (const item of words) {
      const problem = options?.check?.(item);
      if (problem) this.problem(`${name} ${problem}${options?.secret ? '' : `, got ${shown(item)}`}`);
    }
    return words;
  }

  /** A JSON value; `check` returns the problem or null. Never repeated in the message. */
  json<T>(name: string, options?: { required?: boolean; check?: (value: unknown) => string | null }): T | undefined {
    return this.read<T, object>(name, options, (raw) => {
      try {
        const value = JSON.parse(raw) as T;
        return options?.check?.(value) ?? { value };
      } catch {
        return 'must be JSON';
      }
    });
  }

  /** Comma-separated address ranges; a bare address is a range of one. With `none`, the word `none` is an empty list. */
  cidrs(name: string, { none = false } = {}): Cidr[] {
    if (none && this.raw(name)?.toLowerCase() === 'none') return [];
    const check = (item: string) => (parseCidr(item) ? null : 'must list CIDR ranges');
    return this.list(name, { check }).flatMap((item) => parseCidr(item) ?? []);
  }

  private raw(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }

  private read<T, O>(name: string, options: O | undefined, parse: (raw: string) => { value: T } | string): Read<T, O> {
    const common = options as Common<T> | undefined;
    const raw = this.raw(name);
    if (raw === undefined) {
      if (common?.required && common.default === undefined) this.problem(`${name} is required`);
      return common?.default as Read<T, O>;
    }
    const parsed = parse(raw);
    if (typeof parsed !== 'string') return parsed.value;
    this.problem(`${name} ${parsed}`);
    return common?.default as Read<T, O>;
  }
}
