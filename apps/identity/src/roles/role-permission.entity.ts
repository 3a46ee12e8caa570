import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Grants one permission to a role. */
@Entity('role_permission')
export class RolePermission {
  @PrimaryColumn('uuid', { name: 'role_id' })
  roleId: string;

  @PrimaryColumn('uuid', { name: 'permission_id' })
  permissionId: string;

  @Column('jsonb', { nullable: true })
  constraints: Record<string, unknown> | null;
}
