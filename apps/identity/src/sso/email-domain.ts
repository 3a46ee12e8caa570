import { ValidationError } from '@rmm/service-kit';

const DOMAIN = /^(?=.{3,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_DOMAINS = 100;

/** Returns true for a full domain name in lower case ASCII. */
export const isDomain = (text: string): boolean => DOMAIN.test(text);

/** Returns the domain of an address: the text after its last `@`, in lower case; null without one. */
export function domainOf(email: string): string | null {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  return at > 0 && isDomain(domain) ? domain : null;
}

/** Reads domains that commas separate. @throws ValidationError */
export function readDomains(text: string): string[] {
  const domains = text
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => part !== '');
  if (domains.length > MAX_DOMAINS)
    throw ValidationError.forField('allowedDomains', `names more than ${MAX_DOMAINS} domains`);
  if (!domains.every(isDomain))
    throw ValidationError.forField('allowedDomains', 'must be domain names separated by commas');
  return [...new Set(domains)];
}
