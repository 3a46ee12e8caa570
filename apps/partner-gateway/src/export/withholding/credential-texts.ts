import { isSecretLabel } from './secret-names.js';

/** The sources of the patterns below, for the spec that checks that every quantifier has an upper bound. */
export const CREDENTIAL_PATTERNS = {
  /** Cheap check: a text without any of these words has no assignment. */
  mention:
    'pass|pwd|pswd|secret|token|key|cred|auth|wort|senha|contraseña|contrasena|wachtwoord|\\bpin\\b|\\bpw\\b|\\bpsk\\b|connection ?string|community|bearer|jwt|mnemonic|identified by|securestring',
  userInfo: '://([^\\s/?#@"\'<>]{1,256})@',
  option: '(?<![\\w-])(?:--?|/)([A-Za-z][A-Za-z0-9_-]{1,40})[ :=]{1,2}(["\']?)([^\\s"\']{4,128})',
  bearer: '\\bBearer {1,4}(?=[\\w.~+/-]{0,60}\\d)[\\w.~+/-]{16}',
  scheme: 'authorization["\']? {0,3}[:=] {0,3}["\']?(?:token|api-?key|key) {1,3}(?=[\\w.~+/=-]{0,60}\\d)[\\w.~+/=-]{8}',
  basic: 'authorization["\']? {0,3}[:=] {0,3}["\']?basic {1,3}[A-Za-z0-9+/=]{8}',
  quotedSecureString:
    'ConvertTo-SecureString(?: {1,3}-(?:String|AsPlainText|Force)){0,3} {1,3}["\'][^"\'$]{4,128}["\']',
  pipedSecureString: '["\'][^"\'$]{4,128}["\'] {0,3}\\| {0,3}ConvertTo-SecureString',
  sql: '(?:identified by|(?:with|set|login|encrypted) password) {0,3}=? {0,3}["\'][^"\'$]{4,128}["\']',
  netUser: '\\bnet1?(?:\\.exe)? {1,3}user {1,3}"?[^\\s"]{1,64}"? {1,3}"?([^\\s"/*$%][^\\s"]{3,64})',
  userOption: '(?<![\\w-])(?:-u|--user) {1,3}["\']?[^\\s:"\'$]{1,64}:([^\\s"\'$%{][^\\s"\']{2,128})',
  sshpass: '\\bsshpass {1,3}-p {0,2}["\']?([^\\s"\'$]{4,64})',
  mysql: '\\bmysql(?:dump|admin)? [^\\n|;]{0,120}?(?<![\\w-])-p["\']?([^\\s"\'$-][^\\s"\']{3,64})',
  netUse: '\\bnet1?(?:\\.exe)? {1,3}use {1,3}\\S{1,40} {1,3}\\\\\\\\[^\\s"]{1,200} {1,3}"?([^\\s"/*$%][^\\s"]{3,64})',
  psexec: '\\bpsexec(?:64)?(?:\\.exe)? [^\\n]{0,120}? -p {1,2}"?([^\\s"$%]{4,64})',
  schtasks: '/rp {1,2}"?([^\\s"/*$%][^\\s"]{3,64})',
  chpasswd: 'echo {1,3}["\']?[\\w.-]{1,64}:([^\\s"\'|$]{4,64})["\']? {0,3}\\| {0,3}(?:sudo {1,2})?chpasswd',
  sudo: 'echo {1,3}["\']?([^\\s"\'|$]{4,64})["\']? {0,3}\\| {0,3}sudo {1,2}-S',
  htpasswd: 'htpasswd {1,3}-[A-Za-z]{0,6}b[A-Za-z]{0,6} {1,3}\\S{1,200} {1,3}\\S{1,64} {1,3}["\']?([^\\s"\'$]{4,64})',
  archive: '\\b(?:7z[ar]?|zip|rar)(?:\\.exe)? [^\\n|;]{0,120}?-p {0,2}["\']?([^\\s"\'$-][^\\s"\']{3,64})',
  openssl: '\\bopenssl [^\\n|;]{0,120}? (?:-k {1,2}|-pass(?:in|out)? {1,2}pass:)["\']?([^\\s"\'$]{4,64})',
  snmp: 'snmp-server community {1,2}"?([^\\s"$]{4,64})',
  psk: '\\bpsk (?:ascii-text|hexadecimal) {1,2}"?([^\\s"$]{4,64})',
  sentence:
    '(?:password|passwd|passcode|passwort|kennwort|\\bpin|\\bpw)(?: {1,2}(?:is|ist|lautet|was|to) {1,2}| {0,2}[:=] {0,2}| {1,2}["\'])["\'„“]?([^\\s"\'“”,;]{4,64})',
  /** Without a verb or a separator: `password Summer!24`. */
  mentioned: '(?:password|passwd|passcode|passwort|kennwort|\\bpin|\\bpw) {1,2}([^\\s"\'“”,;]{6,64})',
} as const;

const MENTION = new RegExp(CREDENTIAL_PATTERNS.mention, 'i');
const USER_INFO = new RegExp(CREDENTIAL_PATTERNS.userInfo, 'g');
const OPTION = new RegExp(CREDENTIAL_PATTERNS.option, 'g');
/** Each is a credential by itself. */
const STATEMENTS = new RegExp(
  [
    CREDENTIAL_PATTERNS.bearer,
    CREDENTIAL_PATTERNS.scheme,
    CREDENTIAL_PATTERNS.basic,
    CREDENTIAL_PATTERNS.quotedSecureString,
    CREDENTIAL_PATTERNS.pipedSecureString,
    CREDENTIAL_PATTERNS.sql,
  ].join('|'),
  'i',
);
const MENTIONED = new RegExp(CREDENTIAL_PATTERNS.mentioned, 'gi');
/** A credential when the captured value does not look like a word. */
const COMMANDS = [
  CREDENTIAL_PATTERNS.netUser,
  CREDENTIAL_PATTERNS.userOption,
  CREDENTIAL_PATTERNS.sshpass,
  CREDENTIAL_PATTERNS.mysql,
  CREDENTIAL_PATTERNS.netUse,
  CREDENTIAL_PATTERNS.psexec,
  CREDENTIAL_PATTERNS.schtasks,
  CREDENTIAL_PATTERNS.chpasswd,
  CREDENTIAL_PATTERNS.sudo,
  CREDENTIAL_PATTERNS.htpasswd,
  CREDENTIAL_PATTERNS.archive,
  CREDENTIAL_PATTERNS.openssl,
  CREDENTIAL_PATTERNS.snmp,
  CREDENTIAL_PATTERNS.psk,
  CREDENTIAL_PATTERNS.sentence,
].map((source) => new RegExp(source, 'gi'));
const COMMAND_NAME =
  /\bnet1?(?:\.exe)? {1,3}use|(?<![\w-])(?:-u|--user) |\bsshpass|\bmysql|\bpsexec|\/rp |sudo {1,2}-S|\b7z|\b(?:zip|rar) |\bopenssl |snmp-server/i;

const MIN_VALUE = 4;
const MAX_VALUE = 256;
const MAX_NAME = 64;

/** Values that mean that there is none, and words that follow a name in a sentence. */
const NO_VALUES = new Set(
  (
    'none null nil undefined unknown required optional true false yes no empty missing pending string text number boolean ' +
    'object array integer secure securestring hidden redacted masked removed encrypted protected disabled enabled default ' +
    'expired changed reset rotated issued given sent stored saved kept held basic bearer oauth oauth2 ldap saml kerberos ' +
    'windows integrated policy vault bitwarden lastpass keepass 1password dashlane tresor siehe see ask call contact ' +
    'from with will must should shall cannot needs need your here above below same current unchanged invalid incorrect wrong ' +
    'example placeholder sample value token password passwort secret credential credentials username user admin administrator ' +
    'protected-mode n/a tbd todo xxxx manager management management. reset. required. unknown. none. self-service'
  ).split(' '),
);
const REFERENCE =
  /^(?:\$|%[A-Za-z_]|\{|<|\[|\(|\*{3}|\.{3}|_{3}|-{2}|x{4,}$|your[-_ ]|my[-_]|!(?:vault|secret|env|ref|sub|getatt|encrypted)|(?:vault|ssm|env|file|op|keyring|kv|arn|ref):|\/\/|\\)/i;
const CALL = /^[A-Za-z_][\w.:]{0,100}[([]/;
const MEMBER = /^[A-Za-z_]\w{0,60}(?:(?:\.|::|->)[A-Za-z_]\w{0,60}){1,6}$/;
const CMDLET =
  /^(?:Get|Read|New|Import|Export|ConvertTo|ConvertFrom|Unprotect|Invoke|Select|Resolve|Receive|Find|Request)-[A-Za-z]/;
/** Addresses in India end with a `PIN` of six digits; land registers have longer ones with dashes. */
const POSTAL_PIN = /\bpin(?: ?code)? {0,2}$/i;
const POSTAL_CODE = /^\d{6}\b|^\d[\d-]{8,256}$/;
const VERSION = /^v?\d{1,6}\.\d/i;
const SYMBOL = /[!@#$%^&*+?]/;
const WORD = /^\p{L}{1,256}$/u;
const PROSE =
  /(?:^|\s)(?:enter|your|the|please|type|new|must|invalid|password|user|confirm|is|change|and|or|not|for|of|to)(?:\s|$)/i;

/** Returns true for userinfo in a URL, and for an obvious assignment of a credential. */
export function hasCredentialText(text: string): boolean {
  if (text.includes('://') && hasUserInfo(text)) return true;
  if (COMMAND_NAME.test(text) && hasCommand(text)) return true;
  if (!MENTION.test(text)) return false;
  return STATEMENTS.test(text) || hasAssignment(text) || hasOption(text) || hasCommand(text);
}

/** Returns true for a text that is no value itself: a variable, a mask, `<password>`, `none`. */
export function isReference(value: string): boolean {
  const text = value.trim();
  return REFERENCE.test(text) || NO_VALUES.has(text.toLowerCase()) || isRepeated(text);
}

function isRepeated(text: string): boolean {
  return text.length > 2 && text === text.charAt(0).repeat(text.length);
}

function hasUserInfo(text: string): boolean {
  for (const [, userInfo] of text.matchAll(USER_INFO)) {
    const colon = userInfo.indexOf(':');
    const secret = colon === -1 ? userInfo : userInfo.slice(colon + 1);
    if (!isReference(secret)) return true;
  }
  return false;
}

/** Reads around every `=` and `:` at most a fixed number of characters, so that the time is linear. */
function hasAssignment(text: string): boolean {
  for (let at = nextSeparator(text, 0); at !== -1; at = nextSeparator(text, at + 1)) {
    const end = operatorEnd(text, at);
    const name = end === null ? '' : nameBefore(text, at);
    if (end === null || !isSecretLabel(name)) continue;
    const value = valueAfter(text, end);
    if (POSTAL_PIN.test(name) && POSTAL_CODE.test(value.text)) continue;
    if (isCredential(value, text.charAt(at) === ':', text.charAt(at - 1) === ' ')) return true;
  }
  return false;
}

function nextSeparator(text: string, from: number): number {
  const [equals, colon] = [text.indexOf('=', from), text.indexOf(':', from)];
  return equals === -1 || (colon !== -1 && colon < equals) ? colon : equals;
}

/** Returns the index after an assignment operator, or null for a comparison, a scope (`::`) or a URL. */
function operatorEnd(text: string, at: number): number | null {
  const [before, next] = [text.charAt(at - 1), text.charAt(at + 1)];
  if (text.charAt(at) === ':') {
    if (next === ':' || before === ':' || (next === '/' && text.charAt(at + 2) === '/')) return null;
    return next === '=' ? at + 2 : at + 1;
  }
  if (next === '=' || next === '~' || '=!<>~+'.includes(before || ' ')) return null;
  return next === '>' ? at + 2 : at + 1;
}

/** Returns the name before an operator, with the words before it on the same line. */
function nameBefore(text: string, at: number): string {
  let end = at;
  while (end > at - 8 && end > 0 && ' \t"\'`])}:'.includes(text.charAt(end - 1))) end -= 1;
  const line = text.slice(Math.max(0, end - MAX_NAME), end);
  if (!/[\p{L}\d_]$/u.test(line)) return '';
  return line.slice(Math.max(line.lastIndexOf('\n'), line.lastIndexOf(';'), line.lastIndexOf(',')) + 1);
}

interface AssignedValue {
  text: string;
  isQuoted: boolean;
  /** The rest of the line. */
  rest: string;
}

function valueAfter(text: string, from: number): AssignedValue {
  let start = from;
  while (start < from + 6 && ' \t'.includes(text.charAt(start) || '\n')) start += 1;
  if (text.charAt(start) === '@') start += 1;
  const quote = text.charAt(start);
  const window = text.slice(start, start + MAX_VALUE);
  if (quote === '"' || quote === "'" || quote === '`') {
    const end = window.indexOf(quote, 1);
    return { text: end === -1 ? '' : window.slice(1, end), isQuoted: true, rest: '' };
  }
  const length = window.search(/[\s,;"'`&|<>]/);
  const value = length === -1 ? window : window.slice(0, length);
  const after = window.slice(value.length);
  const newline = after.indexOf('\n');
  return { text: value, isQuoted: false, rest: newline === -1 ? after : after.slice(0, newline) };
}

function isCredential({ text, isQuoted, rest }: AssignedValue, isColon: boolean, isSpaced: boolean): boolean {
  const value = text.replace(/[.!?)\]}]{1,3}$/, '');
  if (value.length < MIN_VALUE || isReference(value) || isSecretLabel(value)) return false;
  // A quote that ends a text, as in `"Password: "`, would be taken for the first one of a value.
  if (isQuoted && (/\n/.test(text) || text !== text.trim())) return false;
  if (isQuoted) return !PROSE.test(value) || !/\s/.test(value);
  if (CALL.test(value) || MEMBER.test(value) || CMDLET.test(value)) return false;
  if (!WORD.test(value)) return true;
  // `PASSWORD=swordfish` is an assignment, `token = parser` a variable; `Password: swordfish` is one at the end of a line.
  return isColon ? /^[\s.!)\]}]{0,256}$/.test(rest) && value.length >= 6 : !isSpaced;
}

/** Finds options of commands: `--password hunter2`, `-Password "hunter2"`. */
function hasOption(text: string): boolean {
  for (const [, name, quote, value] of text.matchAll(OPTION)) {
    if (!isSecretLabel(name) || isReference(value) || value.startsWith('-')) continue;
    if (CALL.test(value) || MEMBER.test(value) || CMDLET.test(value) || isSecretLabel(value)) continue;
    if (quote !== '' || !WORD.test(value)) return true;
  }
  return false;
}

function hasCommand(text: string): boolean {
  for (const command of COMMANDS) {
    for (const [, value] of text.matchAll(command)) if (looksChosen(value)) return true;
  }
  for (const [, value] of text.matchAll(MENTIONED)) if (SYMBOL.test(value) && looksChosen(value)) return true;
  return false;
}

/** Returns true for a value with letters and digits or symbols inside, as passwords have and words have not. */
function looksChosen(value: string): boolean {
  const text = value.replace(/[.!?:)\]}]{1,3}$/, '');
  if (text.length < MIN_VALUE || isReference(text) || CALL.test(text) || MEMBER.test(text)) return false;
  if (VERSION.test(text)) return false;
  return /\d/.test(text) ? /\p{L}/u.test(text) : SYMBOL.test(text);
}
