import type { Caller } from '@rmm/access';
import type { AgentChanged } from '@rmm/contracts';
import type { OutgoingMessage } from '@rmm/messaging';

/** Returns the broadcast on which every replica drops the cached tokens of agents. */
export const agentsChanged = (
  data: AgentChanged,
  { partnerId, orgId }: { partnerId: string; orgId: string | null },
): OutgoingMessage => ({
  stream: 'broadcast',
  type: 'agent.changed',
  aggregateId: data.deviceIds[0] ?? orgId ?? partnerId,
  partnerId,
  orgId,
  data,
});

/** Returns the event of a device that is decommissioned next. @param device  with its version before */
export const decommissioned = (
  { actor }: Pick<Caller, 'actor'>,
  device: { id: string; hostname: string; version: string; orgId: string; partnerId: string },
): OutgoingMessage => ({
  stream: 'events',
  type: 'device.decommissioned',
  aggregateId: device.id,
  aggregateVersion: Number(device.version) + 1,
  partnerId: device.partnerId,
  orgId: device.orgId,
  actor,
  data: { deviceId: device.id, hostname: device.hostname, decommissionedBy: actor.id },
});
