import type { AuditTrail } from '@rmm/messaging';
import type { WorkerDatabase } from '@rmm/persistence';
import type { Logger } from '@rmm/service-kit';
import type { IdentityConfig } from '../config.js';
import type { PasswordHasher } from '../passwords/password-hasher.service.js';
import type { RolesRepository } from '../roles/roles.repository.js';
import type { UsersRepository } from '../users/users.repository.js';
import { BootstrapService } from './bootstrap.service.js';

const bootstrapAdmin = { email: 'root@platform.test', password: 'bootstrap-horse-battery-9' };

describe('BootstrapService', () => {
  const start = async (options: { hasAdmin?: boolean; addressTaken?: boolean; config?: Partial<IdentityConfig> }) => {
    const calls: string[] = [];
    const record = (name: string, result?: unknown) => async () => {
      calls.push(name);
      return result;
    };
    await new BootstrapService(
      { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as unknown as WorkerDatabase,
      { seed: record('seed') } as unknown as RolesRepository,
      {
        hasPlatformAdmin: async () => options.hasAdmin ?? false,
        lockPlatformAdmins: record('lock'),
        insertPlatformAdmin: record('insert', options.addressTaken ? null : 'u1'),
      } as unknown as UsersRepository,
      { hash: async () => 'hash' } as unknown as PasswordHasher,
      { record: record('audit') } as unknown as AuditTrail,
      { info: () => undefined } as unknown as Logger,
      { bootstrapAdmin, ...options.config } as IdentityConfig,
    ).onModuleInit();
    return calls;
  };

  it('seeds the roles, then creates the administrator under a lock', async () => {
    expect(await start({})).toEqual(['seed', 'lock', 'insert', 'audit']);
  });

  it('creates no administrator when one exists or none is configured', async () => {
    expect(await start({ hasAdmin: true })).toEqual(['seed']);
    expect(await start({ config: { bootstrapAdmin: undefined } })).toEqual(['seed']);
  });

  it('refuses the start for a weak password, and for an address of another user', async () => {
    const weak = { bootstrapAdmin: { ...bootstrapAdmin, password: 'password' } };
    await expect(start({ config: weak })).rejects.toThrow();
    await expect(start({ addressTaken: true })).rejects.toThrow(/BOOTSTRAP_ADMIN_EMAIL/);
  });
});
