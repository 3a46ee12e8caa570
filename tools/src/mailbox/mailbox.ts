import fs from 'node:fs/promises';
import path from 'node:path';
import { ignore, say } from '../console.js';
import { type LocalHttpServer, serveNear } from '../edge/edge.js';
import { parseJson } from '../paths.js';

export interface Message {
  id: string;
  channel: 'email' | 'sms';
  to: string;
  subject: string | null;
  text: string;
  html: string | null;
  sentAt: string;
}

/** Serves what the fleet would have sent: `/` as a page, `GET /messages?to=<address or number>` as JSON. */
export function startMailbox(dir: string, port: number): Promise<LocalHttpServer> {
  return serveNear(port, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://mailbox');
    const send = (status: number, type: string, text: string) =>
      response.writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'no-store' }).end(text);
    readMessages(dir, searchParams.get('to')).then(
      (messages) => {
        if (pathname === '/messages') send(200, 'application/json', JSON.stringify({ data: messages }));
        else if (pathname === '/') send(200, 'text/html', renderPage(messages));
        else send(404, 'text/plain', 'Not Found');
      },
      (error: Error) => send(500, 'text/plain', error.message),
    );
  });
}

/** Reads the messages of a mailbox folder, one JSON file each, newest first. @param to  an address or number */
export async function readMessages(dir: string, to: string | null): Promise<Message[]> {
  const names = (await fs.readdir(dir)).filter((name) => name.endsWith('.json'));
  const messages = await Promise.all(names.map((name) => readMessage(path.join(dir, name))));
  const matching = messages.filter((message) => message !== null).filter((message) => !to || isTo(message, to));
  return matching.sort((a, b) => (`${a.sentAt} ${a.id}` < `${b.sentAt} ${b.id}` ? 1 : -1));
}

const SAMPLE = { id: '', channel: '', to: '', text: '', sentAt: '' };
const reported = new Set<string>();

/** Returns null for a file that was deleted in the meantime, and for a damaged one, which is reported once. */
async function readMessage(file: string): Promise<Message | null> {
  const content = await fs.readFile(file, 'utf8').catch(ignore);
  const message = parseJson<Message>(content ?? '', SAMPLE);
  if (!message && content !== undefined && !reported.has(file)) say(`${file} is damaged; the mailbox leaves it out`);
  if (!message) return (reported.add(file), null);
  const { id, channel, to, subject = null, text, html = null, sentAt } = message;
  return { id, channel, to, subject, text, html, sentAt };
}

/** A plus sign in a query arrives as a blank when it is not encoded: `?to=+41790000000`. */
function isTo({ channel, to }: Message, requested: string): boolean {
  if (channel === 'sms') return to.replace(/\D/g, '') === requested.replace(/\D/g, '');
  const address = requested.trim().toLowerCase();
  return [address, address.replaceAll(' ', '+')].includes(to.trim().toLowerCase());
}

const SANDBOX = 'allow-popups allow-popups-to-escape-sandbox';
const STYLE =
  ':root{color-scheme:light dark}body{max-width:60rem;margin:1rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif}summary{padding:.5rem 0;cursor:pointer;overflow-wrap:anywhere}iframe{width:100%;height:26rem;border:1px solid;background:#fff}pre{white-space:pre-wrap;overflow-wrap:anywhere}';

function renderPage(messages: readonly Message[]): string {
  const escape = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const entries = messages.map(({ channel, to, subject, text, html, sentAt }) => {
    // Links open in a tab of their own: the pages of the fleet refuse to be framed.
    const source = escape(`<base target="_blank">${html ?? ''}`);
    const preview = html ? `<iframe sandbox="${SANDBOX}" title="HTML" srcdoc="${source}"></iframe>` : '';
    const title = escape(`${sentAt} to ${to}: ${subject ?? channel}`);
    return `<details><summary>${title}</summary>${preview}<pre>${escape(text)}</pre></details>`;
  });
  const form = '<form><label>Address or number <input name="to"></label> <button>Show</button></form>';
  const body = entries.join('\n') || '<p>Nothing was sent yet.</p>';
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mailbox</title><style>${STYLE}</style><h1>Mailbox</h1>${form}${body}</html>`;
}
