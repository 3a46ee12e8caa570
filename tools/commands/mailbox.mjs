import { Failure } from '../failure.mjs';
import { dim } from '../fleet/reporter.mjs';
import { runningState } from '../fleet/state.mjs';
import { readOptions } from './options.mjs';

/** `fleet mailbox [address]`: where the mailbox is, and what it holds. */
export default async function mailbox(args) {
  const [to] = readOptions(args, {}, { allowPositionals: true }).positionals;
  const url = runningState()?.summary?.mailboxUrl;
  if (!url) throw new Failure('The fleet is not running. Start it with: fleet up');
  const query = to ? `?to=${encodeURIComponent(to)}` : '';
  const { data } = await (await fetch(`${url}/messages${query}`)).json();
  console.log(`${url}\n`);
  for (const message of data.slice(0, 20)) {
    console.log(`${message.sentAt}  ${message.channel.padEnd(5)}  ${message.to}  ${message.subject ?? ''}`);
    console.log(dim(message.text.trim().replace(/^/gm, '    ')));
  }
  if (!data.length) console.log('Nothing was sent yet.');
}
