import { FixedClock } from '@rmm/testing-services';
import type { AccessSources } from '../access-sources.service.js';
import type { AgentRecord } from '../access.tokens.js';
import { AGENT_RECORD_TTL_MS, AgentRecords } from './agent-records.service.js';

const RECORD: AgentRecord = { agentId: 'a', deviceId: 'device-1', orgId: 'org-1', partnerId: 'p', siteId: null };
const HASH = Buffer.alloc(32, 1);

describe('AgentRecords', () => {
  let clock: FixedClock;
  let stored: AgentRecord | null;
  let asked: number;
  let records: AgentRecords;

  beforeEach(() => {
    clock = new FixedClock();
    stored = RECORD;
    asked = 0;
    const agents = { findByTokenHash: () => Promise.resolve((asked++, stored)) };
    records = new AgentRecords({ agents } as unknown as AccessSources, clock);
  });

  it('reads the agent of a token once in fifteen seconds', async () => {
    await records.find(HASH);
    clock.advance(AGENT_RECORD_TTL_MS - 1);
    expect(await records.find(HASH)).toBe(RECORD);
    expect(asked).toBe(1);
    clock.advance(1);
    await records.find(HASH);
    expect(asked).toBe(2);
  });

  it('does not cache an unknown token', async () => {
    stored = null;
    expect(await records.find(HASH)).toBeNull();
    stored = RECORD;
    expect(await records.find(HASH)).toBe(RECORD);
  });

  it.each([
    ['its device', { deviceIds: ['device-1'] }, 2],
    ['its organization', { deviceIds: [], orgIds: ['org-1'] }, 2],
    ['another device', { deviceIds: ['device-2'], orgIds: ['org-2'] }, 1],
  ])('drops an agent on changes of %s', async (_, change, reads) => {
    await records.find(HASH);
    records.onAgentsChanged(change);
    await records.find(HASH);
    expect(asked).toBe(reads);
  });
});
