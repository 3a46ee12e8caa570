import { bold, dim, green } from './reporter.mjs';

/** The lines shown when the fleet is ready. */
export function summaryText({ baseUrl, docsUrl, mailboxUrl, admin, localReceivers, logs }, seconds) {
  const row = (label, value) => `    ${dim(label.padEnd(12))} ${value}`;
  const note = localReceivers ? [row('receivers', 'webhooks may go to this machine (--local-receivers)')] : [];
  const title = seconds ? `The fleet is ready ${dim(`(${seconds} s)`)}` : 'The fleet is ready';
  return [
    '',
    `  ${green('●')} ${bold(title)}`,
    '',
    row('API', bold(baseUrl)),
    row('docs', docsUrl),
    row('mailbox', mailboxUrl),
    row('admin', `${admin.email}   ${admin.password}`),
    ...note,
    row('logs', `./fleet logs <service>   ${dim(logs)}`),
    row('stop', 'Ctrl-C or ./fleet down'),
    '',
  ].join('\n');
}
