import { randomBytes } from 'node:crypto';
import { type ConfigReader, type FleetConfig, readConfig, readFleetConfig } from '@rmm/service-kit';

/** The address of another service's OpenAPI document. */
export interface OpenApiSource {
  name: string;
  url: string;
}

export interface PartnerGatewayConfig extends FleetConfig {
  cursorSigningKey: string;
  openApiSources: readonly OpenApiSource[];
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
