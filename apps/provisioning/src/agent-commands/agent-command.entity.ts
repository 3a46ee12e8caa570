import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The payloads of commands by type. */
export interface AgentCommandPayloads {
  dev_push: { downloadUrl: string; checksum: string; version: string; component: string };
}
export type AgentCommandType = keyof AgentCommandPayloads;

/** A command for the agent of a device, sent in the response to one heartbeat. @see docs/reference/provisioning.md#agents */
@Entity('agent_command')
export class AgentCommand {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  @Column('uuid', { name: 'device_id' })
  deviceId: string;

  @Column('text')
  type: AgentCommandType;

  /** JSON; a payload may have secrets. */
  @Column('text', { name: 'payload_sealed' })
  payloadSealed: string;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column('timestamptz', { name: 'delivered_at', nullable: true })
  deliveredAt: Date | null;

  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;
}
