import type { AddressRules } from '@rmm/outbound';
import { ValidationError } from '@rmm/service-kit';
import { isStorableText } from '@rmm/validation';
import { CREDENTIAL_FIELDS, type PsaCredentials, type PsaProvider } from './psa-providers.constants.js';

const MAX_LENGTH = 8_192;
const MAX_URL = 2_048;
/** A line break would end a header. */
// eslint-disable-next-line no-control-regex -- control characters are refused
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f]/;
/** Settings that become part of a path. */
const SERVICENOW_TABLE = /^[a-z][a-z0-9_]{0,79}$/;

/**
 * Merges credentials by name; null deletes one. A base URL of another origin needs every stored secret again, because it
 * would send them to a host that their owner did not choose.
 * @throws ValidationError  naming each bad credential
 */
export function mergeCredentials(
  provider: PsaProvider,
  stored: PsaCredentials,
  changes: Record<string, unknown>,
  rules: AddressRules,
): PsaCredentials {
  const { public: shown, secret } = CREDENTIAL_FIELDS[provider];
  const problems: Record<string, string[]> = {};
  const merged = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(changes)) {
    const problem = value === null ? null : problemOf(value);
    if (!shown.includes(name) && !secret.includes(name)) {
      problems[`credentials.${name.slice(0, 100)}`] = [
        `unknown field; ${provider} has ${[...shown, ...secret].join(', ')}`,
      ];
    } else if (problem) problems[`credentials.${name}`] = [problem];
    else if (value === null) merged.delete(name);
    else merged.set(name, (value as string).trim());
  }
  const baseUrl = merged.get('baseUrl');
  if (baseUrl !== undefined && changes['baseUrl'] !== undefined) {
    const reason = baseUrlProblem(baseUrl, rules);
    if (reason) problems['credentials.baseUrl'] = [reason];
    else merged.set('baseUrl', baseUrl.replace(/\/+$/, ''));
  }
  const isMoved = problems['credentials.baseUrl'] === undefined && originOf(stored['baseUrl']) !== originOf(baseUrl);
  if (isMoved) {
    for (const name of secret) {
      if (Object.hasOwn(stored, name) && !Object.hasOwn(changes, name)) {
        problems[`credentials.${name}`] = ['must be given again with another baseUrl'];
      }
    }
  }
  if (Object.keys(problems).length > 0) throw new ValidationError(undefined, { fieldErrors: problems });
  return Object.fromEntries(merged);
}

/** Splits credentials into those that may be shown and the secret ones. */
export function splitCredentials(
  provider: PsaProvider,
  credentials: PsaCredentials,
): { shown: Record<string, string>; secret: Record<string, string> } {
  const { secret } = CREDENTIAL_FIELDS[provider];
  const entries = Object.entries(credentials);
  return {
    shown: Object.fromEntries(entries.filter(([name]) => !secret.includes(name))),
    secret: Object.fromEntries(entries.filter(([name]) => secret.includes(name))),
  };
}

/** Checks the settings that requests use; others are kept as they are. @throws ValidationError */
export function assertPsaSettings(provider: PsaProvider, settings: Record<string, unknown>): void {
  const table = settings['companyTable'];
  if (provider !== 'servicenow' || table === undefined) return;
  if (typeof table === 'string' && SERVICENOW_TABLE.test(table)) return;
  throw ValidationError.forField('settings.companyTable', 'must be the name of a table');
}

function problemOf(value: unknown): string | null {
  if (typeof value !== 'string' || value.trim() === '') return 'must be text, or null to delete it';
  if (value.length > MAX_LENGTH) return `must be at most ${MAX_LENGTH} characters`;
  if (CONTROL_CHARACTERS.test(value.trim()) || !isStorableText(value)) return 'must not contain control characters';
  return null;
}

/** The address is checked as it is written; names are resolved before each request. */
function baseUrlProblem(text: string, rules: AddressRules): string | null {
  if (text.length > MAX_URL) return `must be at most ${MAX_URL} characters`;
  const check = rules.checkUrl(text);
  if (!check.allowed) return `is refused: ${check.reasons.join('; ')}`;
  const { username, password, search } = check.url;
  if (username !== '' || password !== '') return 'must not contain a user name or password';
  if (search !== '' || /[?#]/.test(text)) return 'must not contain a query or fragment';
  return null;
}

function originOf(url: string | undefined): string | null {
  return url === undefined || !URL.canParse(url) ? null : new URL(url).origin;
}
