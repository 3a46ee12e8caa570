/** Mailboxes anybody can have. */
const CONSUMER_DOMAINS = new Set([
  'aol.com',
  'fastmail.com',
  'gmail.com',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hotmail.com',
  'icloud.com',
  'live.com',
  'mac.com',
  'mail.com',
  'me.com',
  'msn.com',
  'outlook.com',
  'pm.me',
  'proton.me',
  'protonmail.com',
  'qq.com',
  'web.de',
  'yahoo.com',
  'yahoo.co.uk',
  'yandex.com',
  'ymail.com',
  'zoho.com',
]);

/**
 * May this address sign up where business addresses are asked for?
 * @param email  lower case
 * @param allowlist  addresses or domains let through all the same, lower case
 */
export function isBusinessEmail(email: string, allowlist: readonly string[]): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return allowlist.includes(email) || allowlist.includes(domain) || !CONSUMER_DOMAINS.has(domain);
}
