import { rememberNames } from './remembered-names.js';

/** Longer names are cut off before they are read. */
const MAX_NAME_CHARACTERS = 256;

/** Words that name a secret alone, also as the end of a longer word: `dbpassword`. */
const NOUNS = [
  'password',
  'passwd',
  'passwords',
  'passphrase',
  'passcode',
  'pwd',
  'pswd',
  'psswd',
  'passwort',
  'kennwort',
  'contrasena',
  'motdepasse',
  'wachtwoord',
  'senha',
  'losenord',
  'secret',
  'secrets',
  'apikey',
  'apikeys',
  'token',
  'tokens',
  'credential',
  'credentials',
  'creds',
  'privatekey',
  'privkey',
  'secretkey',
  'accesskey',
  'connectionstring',
];

/** Names of secrets in several words, of which the last alone is none. */
const PHRASES = new Set([
  'pass word',
  'pass phrase',
  'pass code',
  'mot de passe',
  'api key',
  'api keys',
  'private key',
  'priv key',
  'secret key',
  'access key',
  'shared key',
  'account key',
  'storage key',
  'signing key',
  'encryption key',
  'decryption key',
  'master key',
  'recovery key',
  'auth key',
  'ssh key',
  'pre shared',
  'wifi key',
  'wpa key',
  'auth code',
  'connection string',
  'community string',
  'snmp community',
  'seed phrase',
  'sas url',
  'totp seed',
  'otp seed',
  'pin code',
]);

/** Names of secrets as a whole, or as their last word. */
const LAST_WORDS = new Set(['pass', 'pw', 'psk', 'pin', 'bearer', 'authorization', 'mnemonic', 'passkey', 'jwt']);

/** Words after the name of a secret that do not change what it names: `passwordHash`, `token value`. */
const VALUE_WORDS = new Set([
  'value',
  'text',
  'string',
  'plain',
  'plaintext',
  'cleartext',
  'raw',
  'hash',
  'hashed',
  'encrypted',
  'base64',
  'b64',
  'current',
  'new',
  'old',
  'default',
  'confirm',
  'confirmation',
  'repeat',
  'data',
]);

/** Words that name a secret wherever they are in the name of a field: `passwordOfAdmin`. */
const STRONG_WORD =
  /^(?:password|passwd|passphrase|secret|apikey|credential|credentials|passwort|kennwort|privatekey)$/;

/** Last words of fields about a secret that do not contain it: `passwordExpiresAt`. */
const ABOUT_WORDS = new Set(
  (
    'age alias algorithm allowed at attempts change changed complexity count created date days description disabled ' +
    'enabled endpoint expiration expired expires expiry file filter format history hours id ids ignored interval key ' +
    'kind label length level lifetime limit location lockout manager max maximum mask masked method min minimum ' +
    'minutes mode ms name names on only path period policy present prompt protected protection provider ref reference ' +
    'required reset retries revoked rotated rotation rule rules score seconds server set source state status store ' +
    'strength supported template title ttl type unit updated uri url used user usage vault version visible window'
  ).split(' '),
);

/** Numbers are secrets under these names only: `maxTokens` counts. */
const NUMERIC = /(?:password|passwd|pwd|passcode|passwort|kennwort|pin|pincode)$/;

/** Returns true when a field of this name contains a secret: `apiKey`, `db_password`, `X-Auth-Token`. */
export const isSecretFieldName = rememberNames((name) => {
  const words = wordsOf(name);
  const last = words.at(-1) ?? '';
  return namesSecret(words) || (words.some((word) => STRONG_WORD.test(word)) && !ABOUT_WORDS.has(last));
});

/** Returns true when a text ends with the name of a secret: `Wi-Fi password`, `the API key`. */
export function isSecretLabel(text: string): boolean {
  return namesSecret(wordsOf(text));
}

/** Returns true when a number under this name may be a secret. */
export function isNumericSecretName(name: string): boolean {
  return NUMERIC.test(wordsOf(name).join(''));
}

function namesSecret(all: readonly string[]): boolean {
  for (let count = all.length; count > 0; count -= 1) {
    const last = all[count - 1] ?? '';
    if (LAST_WORDS.has(last) || NOUNS.some((noun) => last.endsWith(noun))) return true;
    const phrases = [2, 3].map((length) => all.slice(Math.max(0, count - length), count).join(' '));
    if (phrases.some((phrase) => PHRASES.has(phrase))) return true;
    if (!VALUE_WORDS.has(last)) return false;
  }
  return false;
}

/** Splits a name into lower-case words: `apiKey2`, `API_KEY` and `api-key` are all `api key`. Accents are dropped. */
function wordsOf(name: string): string[] {
  return name
    .slice(-MAX_NAME_CHARACTERS)
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .map((word) => word.replace(/\d{1,4}$/, ''))
    .filter((word) => word !== '');
}
