import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { OsType } from '../../device.entity.js';
import type { CustomFieldValue } from '../dto/custom-field-patch.dto.js';

export const CUSTOM_FIELD_TYPES = ['text', 'number', 'boolean', 'dropdown', 'date'] as const;
export type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];

/** The definition of a custom field, owned by one organization, or by the partner when `orgId` is null. */
@Entity('custom_field_definition')
export class CustomFieldDefinition {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  /** The name of the field in the map of a device. */
  @Column('text', { name: 'field_key' })
  fieldKey: string;

  @Column('text')
  name: string;

  /** Sorted by instead of the name. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  @Column('text')
  type: CustomFieldType;

  /** The values of a dropdown; empty for other types. */
  @Column('text', { array: true })
  options: string[];

  @Column('boolean')
  required: boolean;

  /** Shown for devices without a value. */
  @Column('jsonb', { name: 'default_value', nullable: true })
  defaultValue: CustomFieldValue | null;

  /** The devices that have the field; empty for all. */
  @Column('text', { name: 'device_types', array: true })
  deviceTypes: OsType[];

  /** A trigger sets both times. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
