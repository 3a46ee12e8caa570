import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import request from 'supertest';
import { eventually } from '@rmm/testing-services';
import { KitTestApp } from '../../test/kit-test-app.js';

describe('a file of a form', () => {
  let kit: KitTestApp;

  beforeAll(async () => {
    const picture = { path: '/things/picture', limitBytes: 2_000, contentTypes: ['multipart/form-data'] };
    kit = await KitTestApp.start({}, { bodyLimits: [{ ...picture, read: 'stream' }] });
    kit.server.listen(0, '127.0.0.1');
    await once(kit.server, 'listening');
  });
  afterAll(() => kit.stop());

  const post = () => request(kit.server).post('/api/v1/things/picture').set('X-Request-Id', 'form-1');

  it('reaches the handler as bytes, in the context of its request', async () => {
    const response = await post().attach('file', Buffer.from('hello'), 'a.txt');
    expect(response.body).toEqual({ text: 'hello', requestId: 'form-1' });
  });

  it.each([
    ['no form', () => post()],
    ['an empty file', () => post().attach('file', Buffer.alloc(0), 'a.txt')],
    ['two files', () => post().attach('file', Buffer.from('a'), 'a').attach('file', Buffer.from('b'), 'b')],
    ['a file of another name', () => post().attach('other', Buffer.from('a'), 'a')],
    ['a field next to it', () => post().field('name', 'x').attach('file', Buffer.from('a'), 'a')],
    ['text of its name', () => post().field('file', 'x')],
    ['a form cut off', () => post().set('Content-Type', 'multipart/form-data; boundary=b').send('--b\r\nContent-')],
    ['a form without boundary', () => post().set('Content-Type', 'multipart/form-data').send('--b')],
  ])('is refused as %s', async (_, send) => {
    const { status, body } = await send();
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' });
    expect(Object.keys(body.details.fieldErrors as object)).toEqual(['file']);
  });

  it('has a ceiling of its own below that of the form', async () => {
    const fits = await post().attach('file', Buffer.alloc(1_000, 'a'), 'a');
    expect(fits.body.text).toHaveLength(1_000);
    for (const size of [1_001, 3_000]) {
      const { status, body } = await post().attach('file', Buffer.alloc(size, 'a'), 'a');
      expect({ status, code: body.code }).toEqual({ status: 413, code: 'payload_too_large' });
    }
  });

  it('whose sender goes away is no fault of ours', async () => {
    const { port } = kit.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST /api/v1/things/picture HTTP/1.1\r\nHost: x\r\nX-Request-Id: gone-1\r\nContent-Length: 900\r\n' +
        'Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n' +
        'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
    );
    await once(kit.server, 'request');
    socket.destroy();
    const ofIt = () => kit.logged.filter(({ requestId }) => requestId === 'gone-1');
    await eventually(async () => {
      expect(ofIt()).toContainEqual(expect.objectContaining({ level: 'debug', code: 'validation_failed' }));
    });
    expect(ofIt().map(({ level }) => level)).not.toContain('error');
  });
});
