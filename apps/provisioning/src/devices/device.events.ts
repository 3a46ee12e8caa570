import type { AgentChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';

/** Returns the broadcast on which every replica drops the cached tokens of agents. */
export const agentsChanged = (
  data: AgentChanged,
  { partnerId, orgId }: { partnerId: string; orgId: string },
): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'agent.changed',
  aggregateId: data.deviceIds[0] ?? orgId,
  partnerId,
  orgId,
  data,
});
