import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Clock, UpstreamError, type Logger } from '@rmm/service-kit';
import type { IdentityConfig, SmsConfig } from '../config.js';
import { SmsNotConfigured } from '../mfa/mfa.errors.js';
import { SmsProvider } from './sms-provider.service.js';

const MESSAGE = '123456 is your code';

describe('SmsProvider', () => {
  const warn = jest.fn();
  const received: { headers: IncomingMessage['headers']; body: string }[] = [];
  const providers: SmsProvider[] = [];
  let status = 200;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/send`;
  });
  afterAll(async () => {
    await Promise.all(providers.map((provider) => provider.onApplicationShutdown()));
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    warn.mockClear();
    status = 200;
  });

  const provider = (sms: SmsConfig, allowed = ['127.0.0.0/8']) => {
    const config = {
      sms,
      isHosted: false,
      publicApiUrl: 'https://api.test',
      outboundExtraAllowedCidrs: allowed.map((text) => ({ text })),
      outboundBlockedCidrs: [],
    } as unknown as IdentityConfig;
    const created = new SmsProvider(new Clock(), { warn } as unknown as Logger, config);
    providers.push(created);
    return created;
  };

  it('posts number and text with the token', async () => {
    await provider({ providerUrl: url, providerToken: 'secret' }).send('+41790000001', MESSAGE);
    const [{ headers, body }] = received;
    expect(JSON.parse(body)).toEqual({ to: '+41790000001', text: MESSAGE });
    expect(headers).toMatchObject({ 'content-type': 'application/json', authorization: 'Bearer secret' });
  });

  it.each([301, 400, 500])(
    'throws when the provider responds with %i, without number and text in the log',
    async (code) => {
      status = code;
      await expect(provider({ providerUrl: url }).send('+41790000001', MESSAGE)).rejects.toThrow(UpstreamError);
      expect(received).toHaveLength(1);
      expect(warn).toHaveBeenCalledTimes(1);
      expect(JSON.stringify(warn.mock.calls)).not.toMatch(/41790000001|123456/);
    },
  );

  it('throws when the provider cannot be reached, or has an address that is not allowed', async () => {
    const closed = provider({ providerUrl: 'http://127.0.0.1:1/' }).send('+41790000001', MESSAGE);
    await expect(closed).rejects.toThrow(UpstreamError);
    await expect(provider({ providerUrl: url }, []).send('+41790000001', MESSAGE)).rejects.toThrow(UpstreamError);
    expect(received).toEqual([]);
  });

  it('writes to the mailbox in development', async () => {
    const mailboxDir = await mkdtemp(join(tmpdir(), 'sms-'));
    await provider({ mailboxDir }).send('+41790000001', MESSAGE);
    const [file = '', ...others] = await readdir(mailboxDir);
    expect(others).toEqual([]);
    expect(JSON.parse(await readFile(join(mailboxDir, file), 'utf8'))).toMatchObject({
      channel: 'sms',
      to: '+41790000001',
      text: MESSAGE,
    });
    await rm(mailboxDir, { recursive: true });
  });

  it('sends nothing without configuration', async () => {
    await expect(provider({}).send('+41790000001', MESSAGE)).rejects.toThrow(SmsNotConfigured);
  });
});
