import { runInContext } from '../context/request-context.js';
import { Logger } from './logger.service.js';
import { NestLogger } from './nest-logger.adapter.js';

describe('Logger', () => {
  let lines: Record<string, unknown>[];
  let logger: Logger;

  beforeEach(() => {
    lines = [];
    const sink = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    logger = Logger.create({ service: 'identity', level: 'info', sink });
  });

  it('writes one JSON object a line, with service and request id', () => {
    runInContext({ requestId: 'r-1' }, () => logger.info({ userId: 'u' }, 'signed in'));
    logger.debug('too quiet');
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/Z$/),
        service: 'identity',
        requestId: 'r-1',
        userId: 'u',
        msg: 'signed in',
      },
    ]);
  });

  it('redacts values of secret names at any depth', () => {
    logger.info({
      headers: { Authorization: 'Bearer x', cookie: 'a=b', 'x-api-key': 'svc_1', accept: 'json' },
      body: {
        password: 'p',
        newPassword: 'p',
        refreshToken: 't',
        clientSecret: 's',
        key: 'k',
        keyPrefix: 'svc_',
        keyId: '1',
      },
      list: [{ apiKey: 'k' }],
      hasPassword: true,
      recoveryCodes: 10,
    });
    expect(lines[0]).toMatchObject({
      headers: { Authorization: '[redacted]', cookie: '[redacted]', 'x-api-key': '[redacted]', accept: 'json' },
      body: {
        password: '[redacted]',
        newPassword: '[redacted]',
        refreshToken: '[redacted]',
        clientSecret: '[redacted]',
        key: '[redacted]',
        keyPrefix: 'svc_',
        keyId: '1',
      },
      list: [{ apiKey: '[redacted]' }],
      hasPassword: true,
      recoveryCodes: 10,
    });
  });

  it('logs errors with their causes and without secret fields', () => {
    const cause = Object.assign(new Error('refused'), { code: 'ECONNREFUSED', password: 'p' });
    logger.error({ err: new Error('no answer', { cause }) }, 'failed');
    expect(lines[0].err).toMatchObject({
      type: 'Error',
      message: 'no answer',
      stack: expect.stringContaining('logger.spec'),
      cause: { message: 'refused', code: 'ECONNREFUSED', password: '[redacted]' },
    });
  });

  it('cuts circular objects', () => {
    const loop: Record<string, unknown> = {};
    loop.self = loop;
    logger.info({ loop }, 'round');
    expect(JSON.stringify(lines[0])).toContain('[deep]');
  });

  it('adds the fields of a child', () => {
    logger.child({ jobId: 'j' }).warn('late');
    expect(lines[0]).toMatchObject({ jobId: 'j', level: 'warn', msg: 'late', service: 'identity' });
  });

  it('logs the messages of Nest, its start-up details as debug', () => {
    const nest = new NestLogger(logger);
    nest.log('AppModule dependencies initialized', 'InstanceLoader');
    nest.error(new Error('boom'), 'Somewhere');
    expect(lines).toEqual([expect.objectContaining({ level: 'error', context: 'Somewhere', msg: 'boom' })]);
  });
});
