// A name server on loopback that knows one thing: each name has the address 127.0.0.1, for five seconds.
import dgram from 'node:dgram';
import { once } from 'node:events';

const HEADER_BYTES = 12;
const RESPONSE_FLAGS = 0x8180; // a response, recursion available, no error
const TYPE_A = 1;
/** The name of the question, type A, class IN, 5 seconds, four bytes. */
const ADDRESS_RECORD = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 5, 0, 4, 127, 0, 0, 1]);

/** @returns its address, as `Resolver.setServers` expects it, and a function that stops it */
export async function startNameServer() {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (query, { port, address }) => socket.send(responseTo(query), port, address));
  await once(socket.bind(0, '127.0.0.1'), 'listening');
  return { address: `127.0.0.1:${socket.address().port}`, stop: () => socket.close() };
}

function responseTo(query) {
  const endOfName = query.indexOf(0, HEADER_BYTES) + 1;
  const question = query.subarray(0, endOfName + 4);
  const hasAddress = query.readUInt16BE(endOfName) === TYPE_A;
  const response = Buffer.concat([question, hasAddress ? ADDRESS_RECORD : Buffer.alloc(0)]);
  response.writeUInt16BE(RESPONSE_FLAGS, 2);
  response.writeUInt16BE(hasAddress ? 1 : 0, 6);
  response.writeUInt32BE(0, 8); // neither authority nor additional records
  return response;
}
