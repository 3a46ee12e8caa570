import { isEmail } from 'class-validator';
import { attributeOf, flagOf, textOf, toScimObject, type ScimObject } from './scim-attributes.js';
import type { ScimUser } from './scim-user.entity.js';
import { ScimBadRequest } from './scim.errors.js';

const MAX_EMAILS = 20;

/** The attributes of a user that are stored; others are ignored. */
export type UserAttributes = Pick<
  ScimUser,
  'userName' | 'externalId' | 'email' | 'emailType' | 'displayName' | 'givenName' | 'familyName' | 'active'
>;

/**
 * Reads a user resource, as POST and PUT send it and PATCH results in.
 * @throws ScimBadRequest  invalidValue naming the attribute
 */
export function readUserAttributes(resource: ScimObject): UserAttributes {
  const userName = textOf(resource, 'userName');
  if (userName === null) throw new ScimBadRequest('invalidValue', 'userName is required');
  const active = attributeOf(resource, 'active');
  const givenNames = attributeOf(resource, 'name');
  const name = givenNames === undefined ? {} : toScimObject(givenNames, 'name');
  return {
    userName,
    externalId: textOf(resource, 'externalId'),
    ...readAddress(resource, userName),
    displayName: textOf(resource, 'displayName') ?? textOf(name, 'formatted'),
    givenName: textOf(name, 'givenName'),
    familyName: textOf(name, 'familyName'),
    active: active === undefined ? true : flagOf(active, 'active'),
  };
}

/** Returns the name of the account. */
export function accountNameOf(user: UserAttributes): string {
  const parts = [user.givenName, user.familyName].filter((part) => part !== null).join(' ');
  return (user.displayName ?? (parts === '' ? user.email : parts)).slice(0, 255);
}

/** The primary address, else the one for work, else the first; without any the user name. */
function readAddress(resource: ScimObject, userName: string): Pick<ScimUser, 'email' | 'emailType'> {
  const given = attributeOf(resource, 'emails') ?? [];
  const list: unknown[] = Array.isArray(given) ? given : [given];
  if (list.length > MAX_EMAILS) throw new ScimBadRequest('tooMany', `emails has more than ${MAX_EMAILS} values`);
  const emails = list
    .map((item) => (typeof item === 'string' ? { value: item } : toScimObject(item, 'emails')))
    .filter((item) => textOf(item, 'value') !== null);
  const chosen =
    emails.find((item) => isTrue(attributeOf(item, 'primary'))) ??
    emails.find((item) => textOf(item, 'type')?.toLowerCase() === 'work') ??
    emails[0];
  const email = ((chosen && textOf(chosen, 'value')) ?? userName).toLowerCase();
  if (!isEmail(email) || email.length > 255) {
    throw new ScimBadRequest('invalidValue', 'The user needs an e-mail address, in emails or as userName');
  }
  return { email, emailType: ((chosen && textOf(chosen, 'type')) ?? 'work').toLowerCase().slice(0, 50) };
}

const isTrue = (value: unknown): boolean => value === true || (typeof value === 'string' && /^true$/i.test(value));
