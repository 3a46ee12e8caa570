import { IsInteger, IsName, IsOpenObject, OpenDocument } from '@rmm/validation';

/** Agents may be older or newer than the fleet: known fields are read, others ignored. */
@OpenDocument()
export class HeartbeatDto {
  @IsName({ max: 64, optional: true, nullable: true })
  agentVersion?: string | null;

  @IsName({ optional: true, nullable: true })
  osVersion?: string | null;

  @IsInteger({ optional: true, nullable: true })
  uptimeSeconds?: number | null;

  @IsOpenObject({ optional: true, nullable: true, maxBytes: 16_384 })
  metrics?: Record<string, unknown> | null;
}
