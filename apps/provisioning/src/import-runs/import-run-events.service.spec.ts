import { text } from 'node:stream/consumers';
import { AccessSnapshots, type UserCaller } from '@rmm/access';
import { Clock, currentContext, NotFoundError, RequestDeadline, runInContext } from '@rmm/service-kit';
import { ImportRunEventsService } from './import-run-events.service.js';
import type { ImportRun } from './import-run.entity.js';
import type { ImportRunsRepository } from './import-runs.repository.js';

type Access = Awaited<ReturnType<AccessSnapshots['get']>>;

describe('ImportRunEventsService', () => {
  const user = { kind: 'user', userId: 'u', sessionId: 's', mfa: true } as UserCaller;
  const runOf = (state: string, done = 0) => {
    const times = { createdAt: new Date(0), updatedAt: new Date(0), stepStartedAt: null, committedAt: null };
    return { id: 'r', state, done, total: 2, ...times } as ImportRun;
  };
  const access = (snapshot: object = {}, caller = user, permissions = ['organizations:read']) =>
    ({
      snapshot: { userStatus: 'active', sessionRevoked: false, membershipExists: true, ...snapshot },
      permissions: new Set(permissions),
      caller: () => caller,
    }) as unknown as Access;
  const missing = new NotFoundError('Import run');

  /** Streams runs as they are read one after the other; the first is that of the request itself. */
  async function eventsOf(found: (ImportRun | Error)[], entry: Access = access(), caller = user) {
    const callers: unknown[] = [];
    const get = (as: unknown) => {
      callers.push(as);
      const next = found.shift() ?? new Error('the stream goes on');
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const runs = { get } as unknown as ImportRunsRepository;
    const snapshots = { get: () => Promise.resolve(entry) } as unknown as AccessSnapshots;
    const file = await new ImportRunEventsService(runs, snapshots, new Clock()).stream(caller, 'r');
    const sent = await text(file.getStream());
    return { text: sent, callers, states: [...sent.matchAll(/"state":"(\w+)"/g)].map(([, state]) => state) };
  }

  it('sends the run as a named event and ends when no step runs', async () => {
    const { text, states } = await eventsOf([runOf('ready'), runOf('ready')]);
    expect(text).toMatch(/^event: progress\ndata: \{"id":"r".*\}\n\n$/);
    expect(states).toEqual(['ready']);
  });

  it('sends a run again only when it has changed', async () => {
    const same = runOf('committing');
    const { states } = await eventsOf([same, same, same, runOf('completed', 2)]);
    expect(states).toEqual(['committing', 'completed']);
  });

  it('goes on beyond the time limit of the request, of which an RPC would get the rest', async () => {
    const deadlines: unknown[] = [];
    const runs = { get: () => Promise.resolve(runOf(deadlines.length < 2 ? 'parsing' : 'ready')) };
    const snapshots = { get: () => Promise.resolve((deadlines.push(currentContext()?.deadline), access())) };
    const service = new ImportRunEventsService(
      runs as unknown as ImportRunsRepository,
      snapshots as unknown as AccessSnapshots,
      new Clock(),
    );
    await runInContext({ requestId: 'r-1', deadline: new RequestDeadline(1) }, async () => {
      const file = await service.stream(user, 'r');
      expect(await text(file.getStream())).toContain('"state":"ready"');
    });
    expect(deadlines).toEqual([undefined, undefined]);
  });

  it('responds with not found before the stream starts', async () => {
    await expect(eventsOf([missing])).rejects.toBe(missing);
  });

  it('ends without an error when the run is not found any more', async () => {
    const { states } = await eventsOf([runOf('parsing'), runOf('parsing'), missing]);
    expect(states).toEqual(['parsing']);
  });

  it('reads the run with the access that the user has now', async () => {
    const restricted = { ...user, orgAccess: 'selected' } as UserCaller;
    const { callers, states } = await eventsOf([runOf('parsing'), missing], access({}, restricted));
    expect(callers).toEqual([user, restricted]);
    expect(states).toEqual([]);
  });

  it.each<[string, Access]>([
    ['the session does not exist', null],
    ['the session is revoked', access({ sessionRevoked: true })],
    ['the user is disabled', access({ userStatus: 'disabled' })],
    ['the membership was removed', access({ membershipExists: false })],
    ['the permission was removed', access({}, user, ['devices:read'])],
  ])('sends nothing when %s', async (_, entry) => {
    expect((await eventsOf([runOf('parsing'), runOf('parsing')], entry)).text).toBe('');
  });

  it('sends nothing to callers that are not users', async () => {
    const key = { kind: 'api_key' } as unknown as UserCaller;
    expect((await eventsOf([runOf('parsing'), runOf('parsing')], access(), key)).text).toBe('');
  });
});
