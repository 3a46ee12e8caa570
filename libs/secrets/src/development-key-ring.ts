import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { KeyRingKeys } from './key-ring.js';

const KID = 'development';

/**
 * Returns the key ring of a development machine without configuration. It is created on first use and stored in
 * `.data/secrets-keyring.json`, readable by its owner only, so that sealed rows can still be opened after a restart. Tests
 * get a new one in memory.
 */
export function developmentKeyRing(
  nodeEnv: string,
  file = resolve(join('.data', 'secrets-keyring.json')),
): KeyRingKeys {
  if (nodeEnv === 'test') return ringOf(randomBytes(32).toString('base64'));
  try {
    return ringOf(readStored(file));
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  mkdirSync(dirname(file), { recursive: true });
  // Written to a draft and linked, so that services that start together use one ring and never read a partial file.
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ [KID]: randomBytes(32).toString('base64') }), { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  return ringOf(readStored(file));
}

function readStored(file: string): string {
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  const key = stored[KID];
  if (typeof key !== 'string') throw new Error(`${file} contains no key "${KID}"`);
  return key;
}

const ringOf = (key: string): KeyRingKeys => ({ keys: { [KID]: Buffer.from(key, 'base64') }, activeKid: KID });
const hasCode = (error: unknown, code: string) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code;
