import fs from 'node:fs/promises';
import path from 'node:path';

/**
 * The messages in a mailbox folder, one JSON file each, named `<sentAt>-<id>.json`.
 * @param {string | null} to  only those to this address or number
 * @returns {Promise<{ id: string, channel: 'email' | 'sms', to: string, subject: string | null, text: string,
 *   html: string | null, sentAt: string }[]>} newest first
 */
export async function readMessages(dir, to = null) {
  const names = (await fs.readdir(dir)).filter((name) => name.endsWith('.json'));
  const messages = await Promise.all(names.map((name) => readMessage(path.join(dir, name))));
  const wanted = messages.filter((message) => message && (to === null || isTo(message, to)));
  return wanted.sort((a, b) => compare(b.sentAt, a.sentAt) || compare(b.id, a.id));
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

async function readMessage(file) {
  try {
    const {
      id,
      channel,
      to,
      subject = null,
      text = '',
      html = null,
      sentAt,
    } = JSON.parse(await fs.readFile(file, 'utf8'));
    return { id, channel, to, subject, text, html, sentAt };
  } catch {
    return null; // deleted meanwhile
  }
}

/** A plus sign in a query arrives as a blank when it is not encoded: `?to=+41790000000`. */
function isTo(message, wanted) {
  const plain = (address) => address.trim().toLowerCase();
  const numeric = (number) => number.replace(/[^\d]/g, '');
  if (message.channel === 'sms') return numeric(message.to) === numeric(wanted);
  return plain(message.to) === plain(wanted) || plain(message.to) === plain(wanted).replaceAll(' ', '+');
}
