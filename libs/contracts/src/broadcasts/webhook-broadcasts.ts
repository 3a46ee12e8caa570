/** `data` of `webhook.changed`: the subscription indexes of the other replicas may be out of date. */
export interface WebhookChanged {
  webhookId: string;
  isDeleted: boolean;
}

/** `data` of `webhook.partitions` and `webhook.due`, by which the replicas of webhook-dispatcher wake each other. */
export interface ReplicaSignal {
  /** The publishing replica, which ignores its own signals. */
  from: string;
}

/** `data` of `webhook.due`: a request stored deliveries of a webhook that its owner has to send. */
export interface DeliveriesDue extends ReplicaSignal {
  webhookId: string;
}
