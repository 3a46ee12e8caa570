/** The first 18 bytes of private keys, as Base64 of the whole file begins. */
const ENCODED_PRIVATE_KEYS = [
  '-----BEGIN PRIVATE',
  '-----BEGIN RSA PRI',
  '-----BEGIN DSA PRI',
  '-----BEGIN EC PRIV',
  '-----BEGIN OPENSSH',
  '-----BEGIN ENCRYPT',
  '-----BEGIN PGP PRI',
].map((text) => Buffer.from(text).toString('base64'));

/**
 * Texts that are secrets by their form. Every quantifier has an upper bound, so that the time is linear in the length of the
 * text; a spec checks it.
 */
const PRIVATE_KEYS: readonly string[] = [
  '-{2,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-',
  '-{2,5} ?BEGIN SSH2 ENCRYPTED PRIVATE',
  'PuTTY-User-Key-File-\\d',
  'AGE-SECRET-KEY-1[A-Z0-9]{40}',
  '<RSAKeyValue>.{0,3000}<D>',
  ...ENCODED_PRIVATE_KEYS,
];

const RECOVERY_KEYS: readonly string[] = ['(?<!\\d)(?:\\d{6}-){7}\\d{6}(?!\\d)'];

const CLOUD_KEYS: readonly string[] = [
  '(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])',
  '(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}',
  '(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{12}',
  '(?<![A-Za-z0-9])AKID[A-Za-z0-9]{32}',
  '(?<![A-Za-z0-9])GOOG1[A-Z0-9]{20}',
  '(?<![A-Za-z0-9])ya29\\.[A-Za-z0-9_-]{20}',
  'AccountKey=[A-Za-z0-9+/]{40}',
  'SharedAccessKey=[A-Za-z0-9+/]{20}',
  '[?&]sig=[A-Za-z0-9%+/]{40}',
  'do[opr]_v1_[0-9a-f]{64}',
  'dapi[0-9a-f]{32}',
];

const ISSUED_TOKENS: readonly string[] = [
  'svc_(?:sp_)?[A-Za-z0-9_-]{32}',
  'gh[pousr]_[A-Za-z0-9]{36}',
  'github_pat_[A-Za-z0-9_]{22}',
  'gl(?:pat|dt|ptt|rt|cbt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20}',
  'xox[abeoprs]-[A-Za-z0-9-]{10}',
  'xapp-\\d-[A-Z0-9]{8}',
  '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16}',
  'whsec_[A-Za-z0-9+/]{24}',
  'SG\\.[A-Za-z0-9_-]{16,24}\\.[A-Za-z0-9_-]{16}',
  '(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![0-9a-f])',
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{16}',
  'rubygems_[0-9a-f]{48}',
  'dckr_pat_[A-Za-z0-9_-]{20}',
  'hvs\\.[A-Za-z0-9_-]{24}',
  'hf_[A-Za-z0-9]{30}',
  '(?<![A-Za-z0-9-])sk-(?:ant-|proj-|svcacct-)[A-Za-z0-9_-]{20}',
  '(?<![A-Za-z0-9-])sk-[A-Za-z0-9]{32}',
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}',
  '(?<![A-Za-z0-9-])key-[0-9a-z]{32}(?![0-9a-z])',
  '(?<!\\d)\\d{8,10}:AA[A-Za-z0-9_-]{33}',
  'sq0[a-z]{3}-[A-Za-z0-9_-]{22}',
  'lin_api_[A-Za-z0-9]{32}',
  'PMAK-[0-9a-f]{24}',
  'ATATT3[A-Za-z0-9_=-]{20}',
  'NRAK-[A-Z0-9]{20}',
  'xkeysib-[0-9a-f]{64}',
  'eyJ[A-Za-z0-9_-]{10,600}\\.eyJ[A-Za-z0-9_-]{10}',
  'hooks\\.slack\\.com/services/T[A-Z0-9]{6,12}/B[A-Z0-9]{6,12}/[A-Za-z0-9]{16}',
  'discord(?:app)?\\.com/api/webhooks/\\d{10,20}/[A-Za-z0-9_-]{40}',
];

const PASSWORD_HASHES: readonly string[] = [
  '\\$2[aby]\\$\\d\\d\\$[./A-Za-z0-9]{53}',
  '\\$argon2(?:id|i|d)\\$v=',
  '\\$[156]\\$(?:rounds=\\d{1,9}\\$)?[./A-Za-z0-9]{1,16}\\$[./A-Za-z0-9]{22}',
];

/** The sources of all patterns, for the spec that checks their quantifiers. */
export const SECRET_PATTERNS = [...PRIVATE_KEYS, ...RECOVERY_KEYS, ...CLOUD_KEYS, ...ISSUED_TOKENS, ...PASSWORD_HASHES];

const PATTERN = new RegExp(SECRET_PATTERNS.join('|'), 's');
const MIN_CHARACTERS = 12;

/** Returns true for a text with a private key, a cloud access key, an issued token or the hash of a password. */
export function hasKnownSecret(text: string): boolean {
  return text.length >= MIN_CHARACTERS && PATTERN.test(text);
}
