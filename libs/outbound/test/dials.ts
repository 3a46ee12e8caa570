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
 * then fails like a refused connection.
 */
export function recordDials(): { dialled: string[]; stop: () => void } {
  const dialled: string[] = [];
  const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket, given: unknown) {
    const { host, lookup } = targetOf(given);
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
