/** `data` of `webhook.changed`: the subscription indexes of the other replicas may be out of date. */
export interface WebhookChanged {
  webhookId: string;
  isDeleted: boolean;
}

/** `data` of `webhook.shards` and `webhook.due`, by which the replicas of webhook-dispatcher wake each other. */
export interface ReplicaSignal {
  /** The publishing replica, which ignores its own signals. */
  from: string;
}
