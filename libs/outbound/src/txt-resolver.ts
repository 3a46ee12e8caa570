import { Resolver as DnsClient } from 'node:dns/promises';
import { resolveWithin } from './host-resolver.js';

/** Reads the TXT records of a name; an empty list when it has none. @throws when no name server responds */
export abstract class TxtResolver {
  abstract resolveTxt(name: string): Promise<string[]>;
}

const NO_RECORD = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);
const TIMEOUT_MS = 5_000;

/** Queries name servers directly, without a cache: who has just created a record checks it at once. */
export class NameServerTxtResolver extends TxtResolver {
  private readonly client = new DnsClient({ timeout: 2_000, tries: 2 });

  /** @param servers  `address:port` of name servers; those of the operating system when empty */
  constructor(servers: readonly string[] = []) {
    super();
    if (servers.length > 0) this.client.setServers([...servers]);
  }

  async resolveTxt(name: string): Promise<string[]> {
    try {
      const records = await resolveWithin(TIMEOUT_MS, this.client.resolveTxt(name));
      // A text of more than 255 bytes is several strings of one record.
      return records.map((strings) => strings.join(''));
    } catch (error) {
      if (NO_RECORD.has(String((error as { code?: unknown }).code))) return [];
      throw error;
    }
  }
}
