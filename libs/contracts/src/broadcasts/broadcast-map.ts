import type { AccessChanged, AccessHeartbeat } from './access-changed.js';
import type { AgentChanged } from './agent-changed.js';
import type { CredentialChanged } from './credential-changed.js';
import type { ReplicaSignal, WebhookChanged } from './webhook-broadcasts.js';

/** The data of each broadcast: a message that every connected replica receives and that is not stored. */
export interface BroadcastMap {
  'access.changed': AccessChanged;
  'access.heartbeat': AccessHeartbeat;
  'agent.changed': AgentChanged;
  'credential.changed': CredentialChanged;
  'credential.heartbeat': AccessHeartbeat;
  'organization.heartbeat': AccessHeartbeat;
  'webhook.changed': WebhookChanged;
  /** A replica started or stopped, or a shard has no owner. */
  'webhook.shards': ReplicaSignal;
  /** Unleased deliveries are due. */
  'webhook.due': ReplicaSignal;
}
export type BroadcastTopic = keyof BroadcastMap;
