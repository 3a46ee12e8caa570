import type { AccessChanged, AccessHeartbeat, SigningKeysWithdrawn } from './access-changed.js';
import type { AgentChanged } from './agent-changed.js';
import type { CredentialChanged } from './credential-changed.js';
import type { DeliveriesDue, ReplicaSignal, WebhookChanged } from './webhook-broadcasts.js';

/** The data of each broadcast: a message that every connected replica receives and that is not stored. */
export interface BroadcastMap {
  'access.changed': AccessChanged;
  'access.heartbeat': AccessHeartbeat;
  'access.keys-withdrawn': SigningKeysWithdrawn;
  'agent.changed': AgentChanged;
  'credential.changed': CredentialChanged;
  'credential.heartbeat': AccessHeartbeat;
  'organization.heartbeat': AccessHeartbeat;
  'webhook.changed': WebhookChanged;
  /** Partitions of organizations have another owner, or none. */
  'webhook.partitions': ReplicaSignal;
  /** Deliveries that a request stored are due. */
  'webhook.due': DeliveriesDue;
}
export type BroadcastTopic = keyof BroadcastMap;
