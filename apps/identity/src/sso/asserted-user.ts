import { domainOf } from './email-domain.js';
import type { ProviderClaims } from './oidc/oidc-client.service.js';
import type { AttributeMapping } from './sso-provider.entity.js';
import { SsoRefused } from './sso.errors.js';

const MAX_EMAIL = 255;
const MAX_NAME = 255;
const ADDRESS = /^[^\s@<>"(),:;\\[\]]+@[a-z0-9.-]+$/;
/** Control, format, private-use and unassigned characters, and separators of lines. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** The claims of a provider about a user, checked and bounded. */
export interface AssertedUser {
  subject: string;
  /** Lower case; null when the provider names none, or one that is not an address. */
  email: string | null;
  domain: string | null;
  name: string;
  /** The provider states that it verified the address. */
  isVerified: boolean;
  /** The organization of the provider has proven the domain of the address. */
  isDomainProven: boolean;
}

/**
 * Reads the attributes of a user from claims.
 * @throws SsoRefused when the provider states that the address is not verified
 */
export function readAssertedUser(
  { subject, claims, emailVerified }: ProviderClaims,
  mapping: AttributeMapping,
): Omit<AssertedUser, 'isDomainProven'> {
  if (emailVerified.some((stated) => isStated(stated, false))) throw new SsoRefused('sso_email_unverified');
  const email = emailOf(claims[mapping.email]);
  return {
    subject,
    email,
    domain: email === null ? null : domainOf(email),
    name: nameOf(claims, mapping) || email?.split('@')[0] || subject,
    isVerified: emailVerified.some((stated) => isStated(stated, true)),
  };
}

/** Some providers state it as text. */
const isStated = (stated: unknown, expected: boolean): boolean =>
  stated === expected || (typeof stated === 'string' && stated.trim().toLowerCase() === String(expected));

function emailOf(claim: unknown): string | null {
  if (typeof claim !== 'string') return null;
  const email = claim.trim().toLowerCase();
  const isAddress = email.length <= MAX_EMAIL && ADDRESS.test(email) && domainOf(email) !== null;
  return isAddress ? email : null;
}

function nameOf(claims: ProviderClaims['claims'], { name, firstName, lastName }: AttributeMapping): string {
  const read = (claim: string | undefined) => (claim === undefined ? '' : textOf(claims[claim]));
  return (read(name) || `${read(firstName)} ${read(lastName)}`.trim()).slice(0, MAX_NAME);
}

const textOf = (claim: unknown): string =>
  typeof claim === 'string' ? claim.normalize('NFC').replace(HIDDEN, '').trim() : '';
