import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { KeyRingKeys } from './key-ring.js';

const KID = 'development';

/**
 * The ring of a machine without configuration: made at the first start and kept in `.data/secrets-keyring.json`,
 * readable by its owner alone, so that sealed rows survive restarts. Tests get one that lives as long as they do.
 */
export function developmentKeyRing(
  nodeEnv: string,
  file = resolve(join('.data', 'secrets-keyring.json')),
): KeyRingKeys {
  if (nodeEnv === 'test') return ringOf(randomBytes(32).toString('base64'));
  try {
    return ringOf(readKept(file));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  mkdirSync(dirname(file), { recursive: true });
  // Written aside and linked into place: of two services that start together one wins, and nobody reads half a file.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ [KID]: randomBytes(32).toString('base64') }), { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return ringOf(readKept(file));
}

function readKept(file: string): string {
  const kept = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const key = kept[KID];
  if (typeof key !== 'string') throw new Error(`${file} holds no key "${KID}"`);
  return key;
}

const ringOf = (key: string): KeyRingKeys => ({ keys: { [KID]: Buffer.from(key, 'base64') }, activeKid: KID });
const hasCode = (error: unknown, code: string) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code;
