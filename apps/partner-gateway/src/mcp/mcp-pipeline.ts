import type { BodyRule, ErrorBodyRule } from '@rmm/service-kit';
import { toRpcErrorBody } from './rpc-error-body.js';

const PATHS = ['/mcp/message', '/mcp/sse'];

/** @see CONTRACT.md 1.7 */
export const MCP_BODY: BodyRule = { path: '/mcp', limitBytes: 64 * 1024 };

/** A message that is too long is refused before the router, in the words of the protocol all the same. */
export const MCP_ERRORS: readonly ErrorBodyRule[] = PATHS.map((path) => ({ path, toBody: toRpcErrorBody }));
