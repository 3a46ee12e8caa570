import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

interface ToolResult {
  structuredContent?: Record<string, unknown>;
}

/** The calls of the clients of the protocol's SDK that the specs use. */
export interface McpClient {
  listTools(): Promise<{ tools: { name: string; inputSchema: object }[] }>;
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<ToolResult>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(read: { uri: string }): Promise<{ contents: object[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(get: { name: string; arguments?: Record<string, string> }): Promise<{ messages: object[] }>;
  close(): Promise<void>;
}

const INFO = { name: 'fleet-e2e', version: '1.0.0' };
const headersOf = (key: string) => ({ requestInit: { headers: { 'X-API-Key': key } } });

/** Connects a client of the SDK's current line; by default it begins with the handshake. */
async function connectCurrent(url: string, key: string, pin?: string): Promise<McpClient> {
  const client = new Client(INFO, pin === undefined ? {} : { versionNegotiation: { mode: { pin } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), headersOf(key)));
  return client as unknown as McpClient;
}

/** Connects a client of the SDK's line before. */
async function connectEarlier(url: string, key: string): Promise<McpClient> {
  const client = new EarlierClient(INFO);
  await client.connect(new EarlierTransport(new URL(url), headersOf(key)));
  return client as unknown as McpClient;
}

/** The independent clients, each with the path that it uses. */
export const CLIENTS: [name: string, path: string, connect: (url: string, key: string) => Promise<McpClient>][] = [
  ['the current SDK with a handshake', '/mcp/sse', (url, key) => connectCurrent(url, key)],
  ['the current SDK without sessions', '/mcp/message', (url, key) => connectCurrent(url, key, '2026-07-28')],
  [
    'the current SDK without sessions, on the other path',
    '/mcp/sse',
    (url, key) => connectCurrent(url, key, '2026-07-28'),
  ],
  ['the earlier SDK', '/mcp/sse', connectEarlier],
];
