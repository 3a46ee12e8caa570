import { IsInteger, IsName, IsOpenObject, OpenDocument } from '@rmm/validation';

/** Agents may be older or newer than the fleet: known fields are read, others ignored. */
@OpenDocument()
export class HeartbeatDto {
  @IsName({ max: 64, optional: true, nullable: true, description: 'Version of the agent' })
  agentVersion?: string | null;

  @IsName({ optional: true, nullable: true, description: 'Version of the operating system' })
  osVersion?: string | null;

  @IsInteger({ optional: true, nullable: true, description: 'Seconds since the system started' })
  uptimeSeconds?: number | null;

  @IsOpenObject({
    optional: true,
    nullable: true,
    maxBytes: 16_384,
    description: 'Samples of processor, memory and the like',
  })
  metrics?: Record<string, unknown> | null;
}
