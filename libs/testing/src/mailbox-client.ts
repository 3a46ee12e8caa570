import { eventually } from '@rmm/testing-services';

export interface MailboxMessage {
  id: string;
  channel: 'email' | 'sms';
  to: string;
  subject: string;
  text: string;
  html: string;
  sentAt: string;
}

/** Reads the mails and text messages of the development mailbox. */
export class MailboxClient {
  constructor(private readonly mailboxUrl: string) {}

  /** Lists the messages to an address, newest first. */
  async messages(to: string): Promise<MailboxMessage[]> {
    const response = await fetch(`${this.mailboxUrl}/messages?to=${encodeURIComponent(to)}`);
    return ((await response.json()) as { data: MailboxMessage[] }).data;
  }

  /** Waits for a message whose text contains a token, and returns that token. */
  async token(to: string, subject?: RegExp): Promise<string> {
    return eventually(async () => {
      const message = (await this.messages(to)).find((m) => !subject || subject.test(m.subject));
      const token = message?.text.match(/token=([A-Za-z0-9_-]+)/)?.[1];
      if (!token) throw new Error(`no mail with a token for ${to}`);
      return token;
    });
  }
}
