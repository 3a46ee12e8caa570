import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { bigintAsNumber } from '../bigint.transformer.js';

export const DEVICE_TYPES = ['singleDevice', 'multiDevice'] as const;
/** `multiDevice` passkeys may be synchronized between the devices of a user. Never changes. */
export type DeviceType = (typeof DEVICE_TYPES)[number];

/** A WebAuthn credential of a user. @see docs/reference/mfa-and-policies.md */
@Entity('passkey')
export class Passkey {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  /** Chosen by the authenticator; unique over all users. */
  @Column('bytea', { name: 'credential_id' })
  credentialId: Buffer;

  /** A COSE key. */
  @Column('bytea', { name: 'public_key' })
  publicKey: Buffer;

  /** The signature counter of the last use; 0 for authenticators without one. */
  @Column('bigint', { transformer: bigintAsNumber })
  counter: number;

  @Column('text')
  name: string;

  @Column('text', { name: 'device_type' })
  deviceType: DeviceType;

  @Column('boolean', { name: 'backed_up' })
  backedUp: boolean;

  @Column('text', { array: true })
  transports: string[];

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt: Date | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;
}
