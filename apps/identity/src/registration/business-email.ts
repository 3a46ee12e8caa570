import freeEmailDomains from 'free-email-domains';

const FREE_DOMAINS = new Set(freeEmailDomains);

/**
 * Checks whether an address may register where business addresses are required.
 * @param email lower case
 * @param allowlist addresses and domains that may register all the same, lower case
 */
export function isBusinessEmail(email: string, allowlist: readonly string[]): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return allowlist.includes(email) || allowlist.includes(domain) || !FREE_DOMAINS.has(domain);
}
