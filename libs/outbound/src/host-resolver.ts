import { lookup, Resolver as DnsClient } from 'node:dns/promises';
import { OutboundFailed } from './outbound.errors.js';

/** All addresses of a name; an empty list when it has none. @throws when the resolver itself fails */
export interface HostResolver {
  resolve(host: string): Promise<string[]>;
}

/** A name without an answer, in the words of both resolvers. */
const NO_ANSWER = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA']);

/**
 * The operating system's resolver: knows the names of the local network.
 * It runs on four threads of the process, so it is for self-hosted fleets only.
 */
export class SystemResolver implements HostResolver {
  async resolve(host: string): Promise<string[]> {
    const answers = await lookup(host, { all: true, order: 'verbatim' }).catch(noneOr);
    return answers.map(({ address }) => address);
  }
}

/** Asks the name servers directly: no hosts file, no search domains, and a slow name holds up no other. */
export class NameServerResolver implements HostResolver {
  readonly #client = new DnsClient({ timeout: 2_000, tries: 2 });

  async resolve(host: string): Promise<string[]> {
    const answers = await Promise.allSettled([this.#client.resolve4(host), this.#client.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    const failed = answers.find((answer) => answer.status === 'rejected' && !isNoAnswer(answer.reason));
    if (failed?.status === 'rejected') throw failed.reason;
    return [];
  }
}

/** One question at a time for a host; those who ask meanwhile share the answer, and the time it may take. */
export class SingleFlightResolver implements HostResolver {
  readonly #flights = new Map<string, Promise<string[]>>();

  constructor(
    private readonly resolver: HostResolver,
    private readonly timeoutMs: number,
  ) {}

  resolve(host: string): Promise<string[]> {
    const flying = this.#flights.get(host);
    if (flying) return flying;
    // Ends in any case: a question that hangs must not hang those who ask later.
    const flight = within(this.timeoutMs, this.resolver.resolve(host)).finally(() => this.#flights.delete(host));
    this.#flights.set(host, flight);
    return flight;
  }
}

/** @throws OutboundFailed  with the code ETIMEOUT when no answer came in time */
export async function within<T>(timeoutMs: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new OutboundFailed('Name resolution timed out', 'ETIMEOUT')), timeoutMs).unref();
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function isNoAnswer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && NO_ANSWER.has(String(error.code));
}

function noneOr(error: unknown): never[] {
  if (isNoAnswer(error)) return [];
  throw error;
}
