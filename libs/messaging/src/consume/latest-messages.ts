import { createInbox, type Msg } from 'nats';
import { UnavailableError } from '@rmm/service-kit';
import type { NatsLink } from '../connection/nats-link.service.js';
import { textOf } from './stored-messages.js';

const REPLY_MS = 3_000;
/** Numbers that the first step of a search skips. */
const FIRST_STEP = 1_024;

export interface LatestMessage {
  seq: number;
  subject: string;
  text: string;
}

interface Found {
  /** Number of the first matching message. */
  seq: number;
  /** Matching messages from there on. */
  count: number;
}

/**
 * Reads the newest messages of a stream that match a subject (direct get by subject of NATS 2.11). The server lists
 * messages in ascending order only, and counts those that follow: the number at which the newest begin is searched for.
 */
export class LatestMessages {
  constructor(
    private readonly link: NatsLink,
    private readonly stream: string,
  ) {}

  /**
   * Returns up to `limit` messages, newest first.
   * @param subject  may end with a wildcard
   * @param before  returns messages with lower numbers only; null for the newest
   * @throws UnavailableError  when the server does not reply
   */
  async read(subject: string, limit: number, before: number | null): Promise<LatestMessage[]> {
    const later = before === null ? 0 : ((await this.find(subject, before))?.count ?? 0);
    const start = await this.findStart(subject, limit, later);
    if (start === null) return [];
    const batch = start.count - later;
    const messages = await this.request({ seq: start.seq, next_by_subj: subject, batch });
    return messages
      .map((message) => ({ seq: seqOf(message), subject: subjectOf(message), text: textOf(message.data) }))
      .filter(({ seq }) => before === null || seq < before)
      .slice(-limit)
      .reverse();
  }

  /** Returns a place from which between one and two times `limit` messages follow, or all when there are fewer. */
  private async findStart(subject: string, limit: number, later: number): Promise<Found | null> {
    const [least, most] = [later + limit, later + 2 * limit];
    const first = await this.find(subject, 1);
    if (first === null || first.count <= later) return null;
    if (first.count <= most) return first;
    let low = first.seq;
    let high = low + FIRST_STEP;
    let found = await this.find(subject, high);
    while (found !== null && found.count > most) {
      [low, high] = [high, high + 2 * (high - low)];
      found = await this.find(subject, high);
    }
    // More than `most` follow from `low` on and fewer than `least` from `high` on, until `high` is the place.
    while ((found === null || found.count < least) && high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      const there = await this.find(subject, middle);
      if (there !== null && there.count > most) low = middle;
      else [high, found] = [middle, there];
    }
    return found ?? first;
  }

  /** Returns the first matching message from a number on, and how many match from there on. */
  private async find(subject: string, from: number): Promise<Found | null> {
    const [message] = await this.request({ seq: from, next_by_subj: subject, batch: 1 });
    if (!message) return null;
    return { seq: seqOf(message), count: 1 + Number(message.headers?.get('Nats-Num-Pending') ?? 0) };
  }

  /** Sends one request and returns the messages of its replies, which a status ends. */
  private request(body: object): Promise<Msg[]> {
    return new Promise((resolve, reject) => {
      const { connection } = this.link;
      const inbox = createInbox(this.link.inboxPrefix);
      const messages: Msg[] = [];
      const end = (failure?: unknown) => {
        clearTimeout(timer);
        subscription.unsubscribe();
        if (failure === undefined) resolve(messages);
        else reject(new UnavailableError(undefined, { cause: failure, logDetails: { stream: this.stream } }));
      };
      const callback = (error: Error | null, message: Msg) => {
        if (error) return end(error);
        if (!Number.isNaN(seqOf(message))) return void messages.push(message);
        const { code = 0, description = '' } = message.headers ?? {};
        end(code === 204 || code === 404 ? undefined : new Error(`direct get: ${code} ${description}`));
      };
      const timer = setTimeout(() => end(new Error('no reply to a direct get')), REPLY_MS).unref();
      const subscription = connection.subscribe(inbox, { callback });
      connection.publish(`$JS.API.DIRECT.GET.${this.stream}`, JSON.stringify(body), { reply: inbox });
    });
  }
}

/** NaN for a status. */
const seqOf = ({ headers }: Msg): number => Number(headers?.get('Nats-Sequence') || Number.NaN);
const subjectOf = ({ headers }: Msg): string => headers?.get('Nats-Subject') ?? '';
