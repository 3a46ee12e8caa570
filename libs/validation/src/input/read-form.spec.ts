import { once } from 'node:events';
import { createServer, request, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { PayloadTooLargeError, ValidationError } from '@rmm/errors';
import { readForm } from './read-form.js';

describe('readForm', () => {
  let server: Server;
  let store: (file: { stream: Readable }) => Promise<{ content: string }>;

  beforeAll(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => void server.close());
  beforeEach(() => (store = async ({ stream }) => ({ content: await text(stream) })));

  const partOf = (name: string, content: string) =>
    `--b\r\ncontent-disposition: form-data; name="${name}"; filename="a.csv"\r\n\r\n${content}`;

  /** Sends the start of a request, and returns it with what the server got. */
  async function send(body: string): Promise<[ClientRequest, IncomingMessage]> {
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const client = request({ port: (server.address() as AddressInfo).port, method: 'POST', headers });
    client.on('error', () => undefined);
    client.write(body);
    const [received] = (await once(server, 'request')) as [IncomingMessage];
    return [client, received];
  }
  const read = (received: IncomingMessage, fileSize = 100) =>
    readForm(received, {}, { field: 'file', limits: { fileSize }, rule: 'must be a form', store });

  it('leaves the file as stored, and the fields in the body', async () => {
    const field = '--b\r\ncontent-disposition: form-data; name="kind"\r\n\r\ncontacts\r\n';
    const [client, received] = await send(`${field}${partOf('file', 'a\nb')}\r\n--b--\r\n`);
    client.end();
    await read(received);
    expect(received).toMatchObject({ file: { content: 'a\nb', originalname: 'a.csv' }, body: { kind: 'contacts' } });
    client.destroy();
  });

  it.each([
    ['a file above the limit', partOf('file', 'abcd'), PayloadTooLargeError],
    ['a file of another field', partOf('other', 'abc'), ValidationError],
  ])('refuses %s', async (_, part, error) => {
    const [client, received] = await send(`${part}\r\n--b--\r\n`);
    client.end();
    await expect(read(received, 3)).rejects.toBeInstanceOf(error);
    client.destroy();
  });

  it('rejects with the error of the store', async () => {
    store = () => Promise.reject(failure);
    const failure = new Error('connection lost');
    const [client, received] = await send(`${partOf('file', 'a')}\r\n--b--\r\n`);
    client.end();
    await expect(read(received)).rejects.toBe(failure);
    client.destroy();
  });

  it('stops once the client has gone', async () => {
    const started = new Promise<void>((resolve) => {
      store = async ({ stream }) => (resolve(), { content: await text(stream) });
    });
    const [client, received] = await send(partOf('file', 'start of the file'));
    const refused = expect(read(received)).rejects.toBeInstanceOf(ValidationError);
    await started;
    client.destroy();
    await refused;
  });

  it('does not wait for a client that went before', async () => {
    const [client, received] = await send(partOf('file', 'start of the file'));
    const closed = new Promise((resolve) => received.once('close', resolve));
    client.destroy();
    await closed;
    await expect(read(received)).rejects.toMatchObject({ fieldErrors: { file: ['must be a form'] } });
  });
});
