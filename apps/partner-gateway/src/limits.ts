import type { RateLimitWindow } from '@rmm/rate-limits';
import type { McpConfig } from './config.js';

/** The rate limits of this service. @see docs/reference/rate-limits.md */
export const LIMITS = {
  /** Counts per key, since the route is not charged to the limit of the key. */
  readCurrentKey: { name: 'current-partner-key', limit: 60, windowSeconds: 60, onRedisDown: 'allow' },
} as const satisfies Record<string, RateLimitWindow>;

/** Returns the rate limits of MCP, whose numbers are configured. Each counts per key. */
export const mcpLimits = ({ messagesPerMinute, streamsPerMinute }: McpConfig) =>
  ({
    message: { name: 'mcp-message', limit: messagesPerMinute, windowSeconds: 60, onRedisDown: 'refuse' },
    stream: { name: 'mcp-stream', limit: streamsPerMinute, windowSeconds: 60, onRedisDown: 'refuse' },
  }) as const satisfies Record<string, RateLimitWindow>;
