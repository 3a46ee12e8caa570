import { ConfigError } from './config-error.js';
import { ConfigReader } from './config-reader.js';

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
