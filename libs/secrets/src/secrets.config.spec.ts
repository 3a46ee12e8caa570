import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readConfig } from '@rmm/config';
import { developmentKeyRing } from './development-key-ring.js';
import { KeyRing } from './key-ring.js';
import { readSecretsConfig } from './secrets.config.js';

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64');
const SINGLE = 'a single key of thirty-two characters or more';
const read = (env: Record<string, string>) => readConfig(env, readSecretsConfig);
const problemsOf = (env: Record<string, string>): readonly string[] => {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
  }
  return [];
};

describe('readSecretsConfig', () => {
  it('reads a ring and its active key', () => {
    const { keyRing } = read({ SECRETS_KEYRING: JSON.stringify({ a: key(1), b: key(2) }), SECRETS_ACTIVE_KID: 'b' });
    expect(keyRing.activeKid).toBe('b');
    expect(Buffer.from(keyRing.keys['a'] ?? '')).toEqual(Buffer.alloc(32, 1));
  });

  it('uses the only key of a ring without SECRETS_ACTIVE_KID', () => {
    expect(read({ SECRETS_KEYRING: JSON.stringify({ a: key(1) }) }).keyRing.activeKid).toBe('a');
  });

  it('uses the single key and still opens its rows when a ring is added', () => {
    const before = KeyRing.fromConfig(read({ SECRET_ENCRYPTION_KEY: SINGLE }));
    expect(before.activeKid).toBe('default');
    const after = KeyRing.fromConfig(
      read({ SECRET_ENCRYPTION_KEY: SINGLE, SECRETS_KEYRING: JSON.stringify({ a: key(1) }) }),
    );
    expect(after.activeKid).toBe('a');
    expect(after.open(before.seal('x', 'c'), 'c')).toBe('x');
  });

  it.each([
    [{ SECRETS_KEYRING: '{"a":"short"}' }, 'SECRETS_KEYRING must have 32 bytes in base64 under "a"'],
    [{ SECRETS_KEYRING: '{}' }, 'SECRETS_KEYRING must contain at least one key'],
    [{ SECRETS_KEYRING: '[]' }, 'SECRETS_KEYRING must be a JSON object of key ids and base64 keys'],
    [{ SECRETS_KEYRING: 'nonsense' }, 'SECRETS_KEYRING must be JSON'],
    [{ SECRET_ENCRYPTION_KEY: 'short' }, 'SECRET_ENCRYPTION_KEY must have at least 32 characters'],
    [
      { SECRETS_KEYRING: JSON.stringify({ a: key(1) }), SECRETS_ACTIVE_KID: 'b' },
      'SECRETS_ACTIVE_KID "b" is not in SECRETS_KEYRING',
    ],
    [
      { SECRETS_KEYRING: JSON.stringify({ a: key(1), b: key(2) }) },
      'SECRETS_ACTIVE_KID must name one of the keys of SECRETS_KEYRING',
    ],
    [
      { NODE_ENV: 'production', SECRET_ENCRYPTION_KEY: 'development-only-0123456789abcdef0123456789' },
      'SECRET_ENCRYPTION_KEY must not be the key of development in production',
    ],
    [{ NODE_ENV: 'production' }, 'SECRETS_KEYRING or SECRET_ENCRYPTION_KEY is required in production'],
  ])('reports a problem for %j', (env, problem) => {
    expect(problemsOf(env as Record<string, string>)).toContain(problem);
  });

  it('creates a ring for tests', () => {
    const ring = KeyRing.fromConfig(read({ NODE_ENV: 'test' }));
    expect(ring.open(ring.seal('x', 'c'), 'c')).toBe('x');
  });
});

describe('developmentKeyRing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rmm-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is created once, stored, and readable by its owner only', () => {
    const file = join(folder, 'deeper', 'keyring.json');
    const created = developmentKeyRing('development', file);
    expect(developmentKeyRing('development', file)).toEqual(created);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});
