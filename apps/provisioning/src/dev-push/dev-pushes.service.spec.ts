import { randomUUID } from 'node:crypto';
import type { AgentCaller } from '@rmm/access';
import type { AuditTrail } from '@rmm/messaging';
import type { TenantDatabase } from '@rmm/persistence';
import { hashKey } from '@rmm/secrets';
import { NotFoundError } from '@rmm/service-kit';
import { partnerCaller } from '../../test/provisioning-test-database.js';
import type { AgentCommandsService } from '../agent-commands/agent-commands.service.js';
import type { DevicesService } from '../devices/devices.service.js';
import type { DevPushFilesRepository } from './dev-push-files.repository.js';
import type { DevPushesRepository, NewDevPush } from './dev-pushes.repository.js';
import { DevPushesService } from './dev-pushes.service.js';

const DEVICE = { id: 'device', orgId: 'o', partnerId: 'p', hostname: 'pc-1' };
const BUILD = { id: 'build', bytes: 6, checksum: 'a'.repeat(64) };
const PARTS = ['one', 'two'].map((text) => Buffer.from(text));

describe('DevPushesService', () => {
  const caller = partnerCaller(randomUUID());
  const agent = { deviceId: 'device' } as AgentCaller;
  let created: NewDevPush[];
  let commands: { type: string; payload: object; lifetimeSeconds: number }[];
  let deleted: string[];
  let failCommand: Error | null;
  let pushes: DevPushesService;

  beforeEach(() => {
    [created, commands, deleted, failCommand] = [[], [], [], null];
    const claim = (_: unknown, deviceId: string, tokenHash: Buffer) => {
      const found = created.find((push) => push.deviceId === deviceId && push.tokenHash.equals(tokenHash));
      return found ? Promise.resolve(found) : Promise.reject(new NotFoundError('Download'));
    };
    pushes = new DevPushesService(
      { publicApiUrl: 'https://rmm.example' },
      { transaction: (_: unknown, work: (tx: object) => unknown) => work({}) } as unknown as TenantDatabase,
      {
        getActiveByAgent: (_: unknown, agentId: string) =>
          agentId === 'agent' ? Promise.resolve(DEVICE) : Promise.reject(new NotFoundError('Device')),
      } as unknown as DevicesService,
      {
        create: (_: unknown, push: NewDevPush) => Promise.resolve(void created.push(push)),
        claim,
      } as unknown as DevPushesRepository,
      {
        read: async function* () {
          yield* await Promise.resolve(PARTS);
        },
        delete: (id: string) => Promise.resolve(void deleted.push(id)),
      } as unknown as DevPushFilesRepository,
      {
        add: (_: unknown, __: unknown, command: (typeof commands)[number]) => {
          if (failCommand) return Promise.reject(failCommand);
          commands.push(command);
          return Promise.resolve('command');
        },
      } as unknown as AgentCommandsService,
      { record: () => Promise.resolve() } as unknown as AuditTrail,
    );
  });

  it('stores the hash of the token only and sends its address to the agent', async () => {
    const { downloadToken, ...pushed } = await pushes.push(caller, BUILD, { agentId: 'agent' });
    const downloadUrl = `https://rmm.example/api/v1/dev/push/download/${downloadToken}`;
    const build = { checksum: BUILD.checksum, version: 'dev-aaaaaaaaaaaa', component: 'agent' };
    expect(pushed).toEqual({
      ...{ commandId: 'command', agentId: 'agent', deviceId: 'device', wsSent: false, downloadUrl },
      ...build,
    });
    expect(commands).toEqual([{ type: 'dev_push', payload: { downloadUrl, ...build }, lifetimeSeconds: 300 }]);
    expect(created).toMatchObject([{ id: 'build', deviceId: 'device', tokenHash: hashKey(downloadToken), bytes: '6' }]);
    expect(JSON.stringify(created)).not.toContain(downloadToken);
  });

  it('pushes nothing to an unknown agent, and rejects when the command cannot be stored', async () => {
    await expect(pushes.push(caller, BUILD, { agentId: 'other' })).rejects.toThrow(NotFoundError);
    failCommand = new Error('connection lost');
    await expect(pushes.push(caller, BUILD, { agentId: 'agent' })).rejects.toBe(failCommand);
    expect(commands).toEqual([]);
  });

  it('sends the parts of a file and deletes it afterwards', async () => {
    const { downloadToken } = await pushes.push(caller, BUILD, { agentId: 'agent' });
    const { checksum, file } = await pushes.download(agent, downloadToken);
    expect([checksum, file.getHeaders().length]).toEqual([BUILD.checksum, 6]);
    const received: Buffer[] = [];
    for await (const part of file.getStream() as AsyncIterable<Buffer>) received.push(part);
    expect(received).toEqual(PARTS);
    expect(deleted).toEqual(['build']);
  });

  it('deletes the file when the agent closes the connection', async () => {
    const { downloadToken } = await pushes.push(caller, BUILD, { agentId: 'agent' });
    const { file } = await pushes.download(agent, downloadToken);
    for await (const part of file.getStream() as AsyncIterable<Buffer>) {
      expect(part).toEqual(PARTS[0]);
      break;
    }
    expect(deleted).toEqual(['build']);
  });

  it('throws NotFoundError for the token of another device', async () => {
    const { downloadToken } = await pushes.push(caller, BUILD, { agentId: 'agent' });
    const other = pushes.download({ deviceId: 'other' } as AgentCaller, downloadToken);
    await expect(other).rejects.toThrow(NotFoundError);
    await expect(pushes.download(agent, 'x')).rejects.toThrow(NotFoundError);
  });
});
