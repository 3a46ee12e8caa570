import { createSocket, type Socket } from 'node:dgram';

const TXT = 16;
const HEADER_BYTES = 12;

/** A name server on loopback that knows TXT records only. */
export class TxtNameServer {
  readonly records = new Map<string, string[]>();

  private constructor(private readonly socket: Socket) {}

  static async start(): Promise<TxtNameServer> {
    const socket = createSocket('udp4');
    const server = new TxtNameServer(socket);
    socket.on('message', (query, { port, address }) => socket.send(server.replyTo(query), port, address));
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return server;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.socket.close(() => resolve()));
  }

  private replyTo(query: Buffer): Buffer {
    const labels: string[] = [];
    let at = HEADER_BYTES;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length));
      at += length + 1;
    }
    const question = query.subarray(HEADER_BYTES, at + 5);
    const texts = query.readUInt16BE(at + 1) === TXT ? this.records.get(labels.join('.').toLowerCase()) : undefined;
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(texts ? 0x8180 : 0x8183, 2); // NXDOMAIN without a record
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(texts?.length ?? 0, 6);
    return Buffer.concat([header, question, ...(texts ?? []).map(toRecord)]);
  }
}

function toRecord(text: string): Buffer {
  const strings = (text.match(/.{1,255}/g) ?? ['']).map((part) =>
    Buffer.concat([Buffer.from([part.length]), Buffer.from(part)]),
  );
  const data = Buffer.concat(strings);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc00c, 0); // the name of the question
  head.writeUInt16BE(TXT, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt32BE(60, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
