import { dim } from '../console.js';
import { getRunningFleet } from '../fleet/state.js';
import type { Message } from '../mailbox/mailbox.js';

const MAX_MESSAGES = 20;

/** Prints the addresses as shell variables, for `eval "$(./fleet env)"`, psql and the like. They contain passwords. */
export function env(): void {
  const { summary } = getRunningFleet();
  const variables = {
    FLEET_BASE_URL: summary.baseUrl,
    FLEET_MAILBOX_URL: summary.mailboxUrl,
    FLEET_DATABASE_URL: summary.databaseUrl,
    FLEET_REDIS_URL: summary.redisUrl,
    FLEET_NATS_URL: summary.natsUrl,
    FLEET_ADMIN_EMAIL: summary.admin.email,
    FLEET_ADMIN_PASSWORD: summary.admin.password,
  };
  for (const [name, value] of Object.entries(variables)) {
    console.log(`export ${name}='${value.replaceAll("'", "'\\''")}'`);
  }
}

/** Prints the address of the mailbox and its newest messages. */
export async function mailbox(address: string | undefined): Promise<void> {
  const { mailboxUrl } = getRunningFleet().summary;
  const query = address ? `?to=${encodeURIComponent(address)}` : '';
  const { data } = (await (await fetch(`${mailboxUrl}/messages${query}`)).json()) as { data: Message[] };
  console.log(`${mailboxUrl}\n`);
  for (const { sentAt, channel, to, subject, text } of data.slice(0, MAX_MESSAGES)) {
    console.log(`${sentAt}  ${channel.padEnd(5)}  ${to}  ${subject ?? ''}`);
    console.log(dim(text.trim().replace(/^/gm, '    ')));
  }
  if (!data.length) console.log('Nothing was sent yet.');
}
