import { ErrorCode, type Msg, NatsError } from 'nats';
import type { NatsLink } from '@rmm/messaging';
import type { Logger } from '@rmm/service-kit';
import type { PartitionLeaseManagerService } from '../replicas/partition-lease-manager.service.js';
import { EventForwarderService } from './event-forwarder.service.js';
import type { EventResult, IncomingEvent } from './webhook-event.mapper.js';

type Callback = (error: Error | null, message: Msg) => void;

interface Request {
  subject: string;
  payload: string;
  timeout: number;
}

const event = (eventId: string, changes: Partial<IncomingEvent> = {}): IncomingEvent => ({
  eventId,
  eventType: 'device.online',
  createdMs: 1_767_225_600_000,
  orgId: 'o',
  partition: 7,
  body: '{"name":"höst"}',
  isRepeated: false,
  ...changes,
});

describe('EventForwarderService', () => {
  let subscribed: Map<string, { callback: Callback; unsubscribe: jest.Mock }>;
  let requests: Request[];
  let respond: (request: Request) => EventResult[] | Promise<never>;
  let logged: unknown[];
  let searches: number;
  let endReplica: (id: string) => void;
  let forwarder: EventForwarderService;

  beforeEach(() => {
    subscribed = new Map();
    requests = [];
    logged = [];
    searches = 0;
    respond = ({ payload }) => (JSON.parse(payload) as IncomingEvent[]).map(() => 'stored');
    const connection = {
      subscribe: (subject: string, { callback }: { callback: Callback }) => {
        const subscription = { callback, unsubscribe: jest.fn() };
        subscribed.set(subject, subscription);
        return subscription;
      },
      request: (subject: string, payload: string, { timeout }: { timeout: number }) => {
        const request = { subject, payload, timeout };
        requests.push(request);
        return new Promise((resolve) => resolve(respond(request))).then((results) => ({ json: () => results }));
      },
    };
    const log = (fields: unknown) => logged.push(fields);
    forwarder = new EventForwarderService(
      { connection } as unknown as NatsLink,
      {
        replicaId: 'me',
        lookForDead: () => (searches += 1),
        onReplicaEnded: (handle: typeof endReplica) => (endReplica = handle),
      } as unknown as PartitionLeaseManagerService,
      { warn: log, error: log } as unknown as Logger,
    );
  });

  it('passes the events of one moment to their owner in one request, complete', async () => {
    const events = [event('a'), event('b', { isRepeated: true })];
    const results = await Promise.all(events.map((one) => forwarder.forward('other', one)));
    expect(results).toEqual(['stored', 'stored']);
    expect(requests).toHaveLength(1);
    expect(requests[0].subject).toBe('rmm.rpc.webhook-dispatcher.replica.other');
    expect(JSON.parse(requests[0].payload)).toEqual(events);
  });

  it('gives each event the result of its position', async () => {
    respond = () => ['stored', 'refused', 'failed'];
    const results = await Promise.all(['a', 'b', 'c'].map((id) => forwarder.forward('other', event(id))));
    expect(results).toEqual(['stored', 'refused', 'failed']);
  });

  it('splits what is too large for one message, and sends to each owner apart', async () => {
    const body = 'x'.repeat(240_000);
    const large = ['a', 'b', 'c'].map((id) => forwarder.forward('one', event(id, { body })));
    await Promise.all([...large, forwarder.forward('two', event('d'))]);
    expect(requests.map(({ subject }) => subject.split('.').at(-1))).toEqual(['one', 'one', 'two']);
    for (const { payload } of requests) expect(Buffer.byteLength(payload)).toBeLessThan(1_000_000);
  });

  it('has dead replicas looked for when nothing receives the events of an owner, and not when it is slow', async () => {
    const fail = (code: ErrorCode) => {
      respond = () => {
        throw new NatsError(code, code);
      };
      return forwarder.forward('other', event('a'));
    };
    expect(await fail(ErrorCode.Timeout)).toBe('lost');
    expect(searches).toBe(0);
    expect(await fail(ErrorCode.NoResponders)).toBe('lost');
    expect(searches).toBe(1);
  });

  it('reports events as lost when their owner does not reply, or replies with too little', async () => {
    respond = () => {
      throw new Error('timeout');
    };
    await expect(forwarder.forward('other', event('a'))).resolves.toBe('lost');
    expect(logged).toMatchObject([{ owner: 'other', events: 1 }]);
    respond = () => [];
    await expect(forwarder.forward('other', event('a'))).resolves.toBe('lost');
  });

  it('reports events as lost when their owner ends before it replies, and those of no other owner', async () => {
    forwarder.start(() => Promise.resolve([]));
    respond = () => new Promise(() => undefined);
    const results: string[] = [];
    for (const owner of ['one', 'two', 'one']) {
      void forwarder.forward(owner, event('a')).then((result) => results.push(`${owner} ${result}`));
      await new Promise((resolve) => setImmediate(resolve));
    }
    endReplica('one');
    await new Promise((resolve) => setImmediate(resolve));
    expect(requests).toHaveLength(3);
    expect(results).toEqual(['one lost', 'one lost']);
  });

  describe('for events of this replica', () => {
    const receive = (events: IncomingEvent[], replies: string[]) => {
      const message = { json: () => events, respond: (text: string) => replies.push(text) };
      subscribed.get('rmm.rpc.webhook-dispatcher.replica.me')?.callback(null, message as unknown as Msg);
      return new Promise((resolve) => setImmediate(resolve));
    };

    it('replies with the result of each once they are handled', async () => {
      const handled: string[] = [];
      forwarder.start((events) => {
        handled.push(...events.map(({ eventId }) => eventId));
        return Promise.resolve(['stored', 'refused']);
      });
      const replies: string[] = [];
      await receive([event('a'), event('b')], replies);
      expect([handled, replies]).toEqual([['a', 'b'], ['["stored","refused"]']]);
    });

    it('does not reply when they cannot be handled, so that they are sent again', async () => {
      forwarder.start(() => Promise.reject(new Error('down')));
      const replies: string[] = [];
      await receive([event('a')], replies);
      expect([replies, logged.length]).toEqual([[], 1]);
    });

    it('receives none after it was stopped', () => {
      forwarder.start(() => Promise.resolve([]));
      forwarder.stop();
      expect(subscribed.get('rmm.rpc.webhook-dispatcher.replica.me')?.unsubscribe).toHaveBeenCalled();
    });
  });
});
