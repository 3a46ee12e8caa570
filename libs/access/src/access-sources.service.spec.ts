import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { RpcClient } from '@rmm/messaging';
import { AccessSources } from './access-sources.service.js';
import { AGENT_SOURCE, KEY_SOURCE } from './access.tokens.js';

describe('AccessSources', () => {
  const calls: unknown[][] = [];
  const rpc = {
    call: (method: unknown, request: unknown) => {
      calls.push([method, request]);
      return Promise.resolve({ organizations: ['o'] });
    },
  };
  const own = { resolve: () => Promise.resolve(null) };

  @Module({ providers: [{ provide: KEY_SOURCE, useValue: own }] })
  class KeysModule {}

  const sourcesWith = async (...imports: (typeof KeysModule)[]) => {
    const providers = [AccessSources, { provide: RpcClient, useValue: rpc }];
    return (await Test.createTestingModule({ imports, providers }).compile()).get(AccessSources);
  };
  beforeEach(() => void calls.splice(0));

  it('finds the source that a module of the application provides', async () => {
    const sources = await sourcesWith(KeysModule);
    expect(sources.keys).toBe(own);
  });

  it('calls the owning service where the application provides none', async () => {
    const sources = await sourcesWith();
    await sources.keys.resolve(Buffer.from('ab', 'hex'));
    expect(await sources.organizations.get(new Set(['o']) as never)).toEqual(['o']);
    expect(calls).toEqual([
      [expect.anything(), { keyHash: 'ab' }],
      [expect.anything(), { orgIds: ['o'] }],
    ]);
  });

  it('returns undefined for optional sources that the application does not provide', async () => {
    const { agents, verificationKeys, tenantListener } = await sourcesWith();
    expect({ agents, verificationKeys, tenantListener }).toEqual({});
  });

  it('looks a provider up on first use, and once', async () => {
    const agents = { findByTokenHash: () => Promise.resolve(null) };
    const module = await Test.createTestingModule({
      providers: [AccessSources, { provide: RpcClient, useValue: rpc }, { provide: AGENT_SOURCE, useValue: agents }],
    }).compile();
    const get = jest.spyOn(module.get(AccessSources)['modules'], 'get');
    expect(module.get(AccessSources).agents).toBe(agents);
    expect(module.get(AccessSources).agents).toBe(agents);
    expect(get).toHaveBeenCalledTimes(1);
  });
});
