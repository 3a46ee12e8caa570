import { randomUUID } from 'node:crypto';
import type { AgentCaller } from '@rmm/access';
import type { TenantDatabase, TenantTransaction } from '@rmm/persistence';
import { KeyRing } from '@rmm/secrets';
import type { Logger } from '@rmm/service-kit';
import type { AgentCommandsRepository, NewAgentCommand } from './agent-commands.repository.js';
import { AgentCommandsService } from './agent-commands.service.js';

const TARGET = { deviceId: 'd', orgId: 'o', partnerId: 'p' };
const PAYLOAD = { downloadUrl: 'https://rmm.example/secret-token', checksum: 'c', version: '1', component: 'agent' };
const keyRing = (id: string) => KeyRing.fromConfig({ keyRing: { keys: { [id]: Buffer.alloc(32, 7) }, activeKid: id } });

describe('AgentCommandsService', () => {
  const stored: NewAgentCommand[] = [];
  const error = jest.fn();
  const tenants = { transaction: (_: unknown, work: (tx: object) => unknown) => work({}) } as unknown as TenantDatabase;
  const repository = {
    add: (_: unknown, __: unknown, command: NewAgentCommand) => Promise.resolve(void stored.push(command)),
    takeWaiting: () => Promise.resolve(stored.splice(0)),
  } as unknown as AgentCommandsRepository;
  const serviceWith = (ring: KeyRing) =>
    new AgentCommandsService(tenants, repository, ring, { error } as unknown as Logger);
  const service = serviceWith(keyRing('a'));
  const caller = { deviceId: 'd' } as AgentCaller;
  const add = () =>
    service.add({} as TenantTransaction, TARGET, { type: 'dev_push', payload: PAYLOAD, lifetimeSeconds: 300 });

  beforeEach(() => {
    stored.length = 0;
    error.mockClear();
  });

  it('stores a payload sealed and delivers it as it was', async () => {
    const id = await add();
    expect(stored).toEqual([{ id, type: 'dev_push', lifetimeSeconds: 300, payloadSealed: expect.any(String) }]);
    expect(stored[0]?.payloadSealed).not.toContain('secret-token');
    expect(await service.takeWaiting(caller)).toEqual([{ id, type: 'dev_push', payload: PAYLOAD }]);
  });

  it('leaves out a command that no key opens or that was copied from another, and delivers the others', async () => {
    await add();
    Object.assign(stored[0] as object, { id: randomUUID() });
    const id = await add();
    expect((await service.takeWaiting(caller)).map((command) => command.id)).toEqual([id]);
    await add();
    expect(await serviceWith(keyRing('b')).takeWaiting(caller)).toEqual([]);
    expect(error).toHaveBeenCalledTimes(2);
  });
});
