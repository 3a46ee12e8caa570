import { AsyncLocalStorage } from 'node:async_hooks';
import { isIP, Socket } from 'node:net';

interface Target {
  host: string;
  lookup?: (
    host: string,
    options: { all: true },
    callback: (error: Error | null, responses: { address: string }[]) => void,
  ) => void;
}

/**
 * Replaces `Socket.connect` below undici: records every address, looked up as Node would, and sends nothing. Each call
 * then fails like a refused connection. What other spec files of the process left behind may still connect to a store on
 * this machine: that is done in another context, and not recorded.
 */
export function recordDials(): { dialled: string[]; stop: () => void } {
  const dialled: string[] = [];
  const context = new AsyncLocalStorage<true>();
  context.enterWith(true);
  const real = Reflect.get(Socket.prototype, 'connect');
  const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, given: unknown) {
    const { host, lookup } = targetOf(given);
    if (host === '127.0.0.1' && !lookup && !context.getStore()) return Reflect.apply(real, this, [given]);
    const end = (addresses: string[]) => {
      dialled.push(...addresses);
      setImmediate(() => this.destroy(Object.assign(new Error('not sent'), { code: 'ECONNREFUSED' })));
    };
    if (isIP(host) !== 0) process.nextTick(end, [host]);
    else if (!lookup) process.nextTick(end, [`the name ${host}, for Node to resolve`]);
    else lookup(host, { all: true }, (error, responses) => end(error ? [] : responses.map(({ address }) => address)));
    return this;
  });
  return { dialled, stop: () => connect.mockRestore() };
}

/** Sends every connection to one address, as a broken or hostile network would. */
export function redirectConnections(address: string): { stop: () => void } {
  const real = Reflect.get(Socket.prototype, 'connect');
  const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, given: unknown) {
    Object.assign(targetOf(given), { host: address, lookup: undefined });
    return Reflect.apply(real, this, [given]);
  });
  return { stop: () => connect.mockRestore() };
}

const targetOf = (given: unknown) => (Array.isArray(given) ? given[0] : given) as Target;
