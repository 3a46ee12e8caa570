/** `data` of `agent.changed`: every replica of provisioning drops these agents from its token cache. */
export interface AgentChanged {
  deviceIds: string[];
  /** Every agent of these organizations. */
  orgIds?: string[];
}
