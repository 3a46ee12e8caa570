import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A pair of the vocabulary, or the wildcard `*:*`. Seeded at start. */
@Entity('permission')
export class PermissionPair {
  @PrimaryGeneratedColumn('uuid')
  id: string;

  @Column('text')
  resource: string;

  @Column('text')
  action: string;

  @Column('text', { nullable: true })
  description: string | null;
}
