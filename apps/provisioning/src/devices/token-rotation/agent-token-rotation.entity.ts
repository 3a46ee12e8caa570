import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The replacement of an agent token. It ends when the agent uses the next token. */
@Entity('agent_token_rotation')
export class AgentTokenRotation {
  @PrimaryColumn('uuid', { name: 'device_id' })
  deviceId: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id' })
  orgId: string;

  /** SHA-256 of the token that the agent was offered last; null until its next heartbeat. */
  @Column('bytea', { name: 'next_token_hash', nullable: true, select: false })
  nextTokenHash: Buffer | null;

  @Column('timestamptz', { name: 'offered_at', nullable: true })
  offeredAt: Date | null;

  /** When the present token ends, also if the next one was not used. */
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt: Date;

  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;
}
