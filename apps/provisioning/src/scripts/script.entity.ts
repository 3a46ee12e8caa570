import { Column, Entity, PrimaryColumn } from 'typeorm';

export const SCRIPT_OS_TYPES = ['windows', 'macos', 'linux'] as const;
export type ScriptOsType = (typeof SCRIPT_OS_TYPES)[number];

export const SCRIPT_LANGUAGES = ['powershell', 'bash', 'python', 'cmd'] as const;
export type ScriptLanguage = (typeof SCRIPT_LANGUAGES)[number];

export const SCRIPT_RUN_AS = ['system', 'user', 'elevated'] as const;
export type ScriptRunAs = (typeof SCRIPT_RUN_AS)[number];

export const ALERT_SEVERITIES = ['critical', 'high', 'medium', 'low', 'info'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** Alert severities by exit code; null for codes that cause no alert. */
export type ExitCodeSeverityMapping = Record<string, AlertSeverity | null>;

/** The columns that a script and its replaced versions have in common. */
export abstract class ScriptColumns {
  @PrimaryColumn('uuid')
  id: string;

  @Column('uuid', { name: 'partner_id' })
  partnerId: string;

  @Column('uuid', { name: 'org_id', nullable: true })
  orgId: string | null;

  @Column('text')
  name: string;

  @Column('text', { nullable: true })
  description: string | null;

  @Column('text', { nullable: true })
  category: string | null;

  @Column('text', { name: 'os_types', array: true })
  osTypes: ScriptOsType[];

  @Column('text')
  language: ScriptLanguage;

  /** Up to 256 KB, so lists do not read it. */
  @Column('text', { select: false })
  content: string;

  /** An object or a list, as the authors of scripts define it. */
  @Column('jsonb', { nullable: true })
  parameters: object | null;

  @Column('text', { name: 'run_as' })
  runAs: ScriptRunAs;

  @Column('integer', { name: 'timeout_seconds' })
  timeoutSeconds: number;

  @Column('jsonb', { name: 'exit_code_severity_mapping', nullable: true })
  exitCodeSeverityMapping: ExitCodeSeverityMapping | null;

  @Column('text', { array: true })
  tags: string[];

  /** Counts the changes of what a device runs, from 1. */
  @Column('integer')
  version: number;
}

/** A script of one organization, or of the partner and all its organizations when `orgId` is null. */
@Entity('script')
export class Script extends ScriptColumns {
  /** Compared instead of the name; unique among the scripts of one owner. */
  @Column('text', { name: 'name_key' })
  nameKey: string;

  /** Digest of what a device runs, by which an import finds equal scripts. */
  @Column('text', { name: 'definition_sha256' })
  definitionSha256: string;

  /** The user who wrote the current version; null for the platform. */
  @Column('uuid', { name: 'version_created_by', nullable: true })
  versionCreatedBy: string | null;

  @Column({ type: 'timestamptz', name: 'version_created_at', insert: false })
  versionCreatedAt: Date;

  /** A trigger sets both times. */
  @Column({ type: 'timestamptz', name: 'created_at', insert: false, update: false })
  createdAt: Date;

  @Column({ type: 'timestamptz', name: 'updated_at', insert: false, update: false })
  updatedAt: Date;
}
