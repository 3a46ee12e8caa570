import { text } from 'node:stream/consumers';
import type { AccessSnapshots, UserCaller } from '@rmm/access';
import type { Permission } from '@rmm/permissions';
import { Clock, currentContext, NotFoundError, RequestDeadline, runInContext } from '@rmm/service-kit';
import { ImportRunEventsService } from './import-run-events.service.js';
import type { ImportRun } from './import-run.entity.js';
import type { ImportRunsRepository } from './import-runs.repository.js';

describe('ImportRunEventsService', () => {
  const permissions = new Set(['organizations:read']);
  const user = { kind: 'user', userId: 'u', sessionId: 's', mfa: true, permissions } as unknown as UserCaller;
  const runOf = (state: string, done = 0) => {
    const times = { createdAt: new Date(0), updatedAt: new Date(0), stepStartedAt: null, committedAt: null };
    return { id: 'r', state, done, total: 2, ...times } as ImportRun;
  };
  const missing = new NotFoundError('Import run');

  /** Streams runs as they are read one after the other; the first is that of the request itself. */
  async function eventsOf(found: (ImportRun | Error)[], current: UserCaller | null = user, caller = user) {
    const callers: unknown[] = [];
    const get = (as: unknown) => {
      callers.push(as);
      const next = found.shift() ?? new Error('the stream goes on');
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    };
    const runs = { get } as unknown as ImportRunsRepository;
    const snapshots = { findCaller: () => Promise.resolve(current) } as unknown as AccessSnapshots;
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
    const snapshots = { findCaller: () => Promise.resolve((deadlines.push(currentContext()?.deadline), user)) };
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
    const { callers, states } = await eventsOf([runOf('parsing'), missing], restricted);
    expect(callers).toEqual([user, restricted]);
    expect(states).toEqual([]);
  });

  it.each<[string, UserCaller | null]>([
    ['the session, the user or the membership has ended', null],
    ['the permission was removed', { ...user, permissions: new Set<Permission>(['devices:read']) }],
  ])('sends nothing when %s', async (_, current) => {
    expect((await eventsOf([runOf('parsing'), runOf('parsing')], current)).text).toBe('');
  });

  it('sends nothing to callers that are not users', async () => {
    const key = { kind: 'api_key' } as unknown as UserCaller;
    expect((await eventsOf([runOf('parsing'), runOf('parsing')], user, key)).text).toBe('');
  });
});
