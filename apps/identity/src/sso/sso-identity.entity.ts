import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A subject of an identity provider and the user it signs in. */
@Entity('sso_identity')
export class SsoIdentity {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('uuid', { name: 'provider_id' })
  providerId: string;

  @Column('text')
  subject: string;

  @Column('uuid', { name: 'user_id' })
  userId: string;

  /** The address that the provider asserted when the identity was linked. */
  @Column('text', { nullable: true })
  email: string | null;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  @Column('timestamptz', { name: 'last_login_at', nullable: true })
  lastLoginAt: Date | null;
}
