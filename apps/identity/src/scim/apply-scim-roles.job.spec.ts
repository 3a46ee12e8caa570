import { ApplyScimRolesJob } from './apply-scim-roles.job.js';
import { ScimRoleNotGrantable } from './scim.errors.js';

const VERSION = 7;

describe('ApplyScimRolesJob', () => {
  let outdated: Record<string, number>;
  let deleted: string[];
  let applied: string[];
  let changes: [string, object][];
  let refuse: (id: string) => Error | null;
  let warnings: object[];
  let errors: object[];
  let job: ApplyScimRolesJob;

  beforeEach(() => {
    [outdated, deleted, applied, changes, warnings, errors] = [{}, [], [], [], [], []];
    refuse = () => null;
    const worker = { transaction: (work: (tx: object) => unknown) => Promise.resolve(work({})) };
    const users = {
      listOutdatedProviders: () => Promise.resolve(Object.keys(outdated).filter((id) => outdated[id] > 0)),
      lockOutdated: (_tx: object, { id }: { id: string }, limit: number) =>
        Promise.resolve(Array.from({ length: Math.min(outdated[id], limit) }, () => ({ id: `${id}-user` }))),
      change: (_tx: object, id: string, values: object) => {
        outdated[id.replace('-user', '')]--;
        return Promise.resolve(changes.push([id, values]));
      },
    };
    const providers = {
      find: (id: string) => Promise.resolve(deleted.includes(id) ? null : { id, configVersion: VERSION }),
    };
    const memberships = {
      apply: (_tx: object, { id }: { id: string }) => {
        const error = refuse(id);
        if (error) return Promise.reject(error);
        return Promise.resolve(applied.push(id));
      },
    };
    const logger = {
      warn: (context: object) => warnings.push(context),
      error: (context: object) => errors.push(context),
    };
    const parts = [worker, users, providers, memberships, logger];
    job = new ApplyScimRolesJob(...(parts as unknown as ConstructorParameters<typeof ApplyScimRolesJob>));
  });

  it('applies the present settings to every user', async () => {
    outdated = { a: 120, b: 3 };
    await job.run();
    expect(outdated).toEqual({ a: 0, b: 0 });
    expect(new Set(changes.map(([, values]) => JSON.stringify(values)))).toEqual(
      new Set([JSON.stringify({ settingsVersion: VERSION })]),
    );
  });

  it('serves a provider with few users before the second batch of one with many', async () => {
    outdated = { many: 120, few: 1 };
    await job.run();
    expect(applied.indexOf('few')).toBe(50);
  });

  it('leaves a deleted provider, and ends', async () => {
    outdated = { a: 60 };
    deleted = ['a'];
    await job.run();
    expect(applied).toEqual([]);
  });

  it('leaves out a role that may not be given, until settings change again', async () => {
    outdated = { a: 1, b: 1 };
    refuse = (id) => (id === 'a' ? new ScimRoleNotGrantable() : null);
    await job.run();
    expect(applied).toEqual(['b']);
    expect(outdated).toEqual({ a: 0, b: 0 });
    expect(warnings).toEqual([expect.objectContaining({ scimUserId: 'a-user', providerId: 'a' })]);
  });

  it('leaves a batch that fails to the next run, and serves the other providers', async () => {
    outdated = { a: 60, b: 1 };
    refuse = (id) => (id === 'a' ? new Error('unexpected') : null);
    await job.run();
    expect(outdated).toEqual({ a: 60, b: 0 });
    expect(errors).toEqual([expect.objectContaining({ providerId: 'a' })]);
  });
});
