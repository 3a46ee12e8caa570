import { Column, Entity } from 'typeorm';
import { ScriptColumns } from './script.entity.js';

/** A version of a script as it was when a newer one replaced it. */
@Entity('script_version')
export class ScriptVersion extends ScriptColumns {
  @Column('uuid', { name: 'script_id' })
  scriptId: string;

  /** The user who wrote this version; null for the platform. */
  @Column('uuid', { name: 'created_by', nullable: true })
  createdBy: string | null;

  @Column('timestamptz', { name: 'created_at' })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'replaced_at', insert: false, update: false })
  replacedAt: Date;
}
