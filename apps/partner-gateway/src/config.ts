import { randomBytes } from 'node:crypto';
import { type ConfigReader, type FleetConfig, readConfig, readFleetConfig } from '@rmm/service-kit';

/** The address of another service's OpenAPI document. */
export interface OpenApiSource {
  name: string;
  url: string;
}

/** Limits of MCP for one API key. */
export interface McpConfig {
  messagesPerMinute: number;
  streamsPerMinute: number;
  maxSessions: number;
  /** A session ends this long after its last use. */
  sessionTtlSeconds: number;
}

export interface PartnerGatewayConfig extends FleetConfig {
  cursorSigningKey: string;
  mcp: McpConfig;
  openApiSources: readonly OpenApiSource[];
  /** True: only principals with an expiry or source addresses may create enrollment keys. */
  mintRequiresRestrictedPrincipal: boolean;
}

export const PARTNER_GATEWAY_CONFIG = Symbol('PARTNER_GATEWAY_CONFIG');

const KEY_BYTES = 32;

/** Reads every variable of this service. @throws ConfigError listing every problem */
export const readPartnerGatewayConfig = (env: NodeJS.ProcessEnv): Readonly<PartnerGatewayConfig> =>
  readConfig(env, (v) => {
    const fleet = readFleetConfig(v, 'partner-gateway');
    return {
      ...fleet,
      cursorSigningKey: readCursorSigningKey(v, fleet.isProduction),
      mcp: {
        messagesPerMinute: v.integer('MCP_MESSAGES_PER_MINUTE', { min: 1, max: 100_000, default: 120 }),
        streamsPerMinute: v.integer('MCP_STREAMS_PER_MINUTE', { min: 1, max: 100_000, default: 30 }),
        maxSessions: v.integer('MCP_MAX_SESSIONS', { min: 1, max: 1_000, default: 5 }),
        sessionTtlSeconds: v.integer('MCP_SESSION_TTL_SECONDS', { min: 60, max: 86_400, default: 660 }),
      },
      mintRequiresRestrictedPrincipal: v.boolean('PARTNER_MINT_REQUIRES_RESTRICTED_PRINCIPAL', { default: false }),
      openApiSources: v.list('OPENAPI_SOURCES', { check: checkSource }).map(toSource),
    };
  });

/** Generates a key outside production, where cursors are valid as long as the process runs. */
function readCursorSigningKey(v: ConfigReader, isProduction: boolean): string {
  const key = v.string('PARTNER_API_CURSOR_SIGNING_KEY', { required: isProduction, secret: true });
  if (key === undefined) return randomBytes(KEY_BYTES).toString('hex');
  if (Buffer.byteLength(key) < KEY_BYTES)
    v.problem(`PARTNER_API_CURSOR_SIGNING_KEY must have ${KEY_BYTES} bytes or more`);
  return key;
}

function checkSource(item: string): string | null {
  const { name, url } = toSource(item);
  return name !== '' && URL.canParse(url) && /^https?:/.test(url) ? null : 'must list name=http(s) URL';
}

function toSource(item: string): OpenApiSource {
  const separator = item.indexOf('=');
  return { name: item.slice(0, Math.max(separator, 0)), url: item.slice(separator + 1) };
}
