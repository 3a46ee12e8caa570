import type { ApiBodyOptions } from '@nestjs/swagger';
import type { BodyRule, KitRequest } from '@rmm/service-kit';
import { IsName, IsOneOf, IsUuid } from '@rmm/validation';
import { DEV_PUSH_COMPONENTS, type DevPushComponent } from '../dev-push.entity.js';

const MAX_ENVELOPE_BYTES = 150 * 1024 * 1024;
export const MAX_BUILD_BYTES = 100 * 1024 * 1024;
const TRANSFER_MS = 300_000;

/** JSON is accepted too, so that the response can name the missing parts. @see docs/reference/requests.md */
export const DEV_PUSH_BODY: BodyRule = {
  path: '/dev/push',
  limitBytes: MAX_ENVELOPE_BYTES,
  contentTypes: ['multipart/form-data', 'application/json'],
  read: 'stream',
};
export const DEV_PUSH_TIMEOUT = { path: '/dev/push', exact: true, timeoutMs: TRANSFER_MS } as const;

export const DEV_PUSH_FORM: ApiBodyOptions = {
  schema: {
    type: 'object',
    required: ['agentId', 'binary'],
    properties: {
      agentId: { type: 'string', format: 'uuid', description: 'Before the file: an unknown agent is refused at once' },
      binary: { type: 'string', format: 'binary', description: 'At most 100 MB' },
      version: { type: 'string', maxLength: 64, description: 'By default `dev-` and the start of the checksum' },
      component: { type: 'string', enum: [...DEV_PUSH_COMPONENTS], default: 'agent' },
    },
  },
};

/** The fields of the form besides the file. */
export class DevPushFormDto {
  @IsUuid({ description: 'Id of the agent' })
  agentId!: string;

  @IsName({ max: 64, optional: true, description: 'Version of the build' })
  version?: string;

  @IsOneOf(DEV_PUSH_COMPONENTS, { optional: true, description: 'Part of the agent' })
  component?: DevPushComponent;
}

const BOUNDARY = /^multipart\/form-data\s*;.*\bboundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i;

/**
 * Returns whether the request has a form with at least one part. Only headers are read: a form without parts consists of
 * its closing line. Without a length, parts are assumed.
 */
export function hasFormParts({ headers }: Pick<KitRequest, 'headers'>): boolean {
  const [, quoted, plain] = BOUNDARY.exec(headers['content-type'] ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return false;
  if (headers['content-length'] === undefined) return headers['transfer-encoding'] !== undefined;
  return Number(headers['content-length']) > `\r\n--${boundary}--\r\n`.length;
}
