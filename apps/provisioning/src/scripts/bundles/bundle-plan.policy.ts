import { nameKey } from '../../organizations/name-key.js';
import { definitionSha256 } from '../script-definition.js';
import { toScriptFields } from '../script.mapper.js';
import type { ScriptFields, ScriptName, ScriptOwner } from '../scripts.repository.js';
import type { BundleEntry } from './bundle-entries.js';
import type { BundlePreviewEntryDto } from './dto/bundle-results.dto.js';

export const BUNDLE_MODES = ['skip', 'rename', 'new-version'] as const;
export type BundleMode = (typeof BUNDLE_MODES)[number];

/** The effect of an import on the script that an entry names. */
export type EntryDecision =
  | { action: 'refuse'; error: string }
  | { action: 'skip'; scriptId: string }
  | { action: 'create'; fields: ScriptFields; finalName: string | null }
  | { action: 'new-version'; scriptId: string; fields: ScriptFields; definitionSha256: string };

const MAX_NAME = 255;
const PARTNER_WIDE_TEXT = 'A script of all organizations has this name';

/** Decides what an import does with the entries of a bundle; each sees the scripts that earlier entries created. */
export class BundlePlanner {
  /** The scripts of the owner itself, by the key of the name. */
  private readonly own = new Map<string, ScriptName>();
  /** The scripts of the partner, when the owner is an organization. */
  private readonly partnerWide = new Map<string, ScriptName>();
  private readonly seen = new Set<string>();

  constructor(
    names: readonly ScriptName[],
    private readonly owner: ScriptOwner,
    private readonly maxScripts: number,
  ) {
    for (const name of names) {
      const isOwn = name.orgId === owner.orgId;
      (isOwn ? this.own : this.partnerWide).set(name.nameKey, name);
    }
  }

  /** Returns the status of an entry; the entries of a bundle come in their order. */
  preview({ index, name, nameKey: key, fields, error }: BundleEntry): BundlePreviewEntryDto {
    if (!fields) return { index, name, status: 'invalid', error: error ?? undefined };
    const existing = this.partnerWide.get(key) ?? this.own.get(key);
    const isRepeated = this.seen.has(key);
    this.seen.add(key);
    if (existing) {
      const conflictKind = existing.orgId === this.owner.orgId ? 'same-owner' : 'partner-wide';
      const found = { existingScriptId: existing.id, existingVersion: existing.version };
      return { index, name, status: 'name-conflict', conflictKind, ...found };
    }
    return isRepeated
      ? { index, name, status: 'name-conflict', conflictKind: 'in-bundle' }
      : { index, name, status: 'new' };
  }

  decide(entry: BundleEntry, mode: BundleMode): EntryDecision {
    if (!entry.fields) return { action: 'refuse', error: entry.error ?? 'is not valid' };
    const fields = toScriptFields(entry.fields);
    if (this.partnerWide.has(entry.nameKey)) return { action: 'refuse', error: PARTNER_WIDE_TEXT };
    const existing = this.own.get(entry.nameKey);
    if (!existing) return this.create(fields, null);
    if (mode === 'skip') return { action: 'skip', scriptId: existing.id };
    if (mode === 'rename') {
      const name = this.freeName(fields.name);
      return this.create({ ...fields, name }, name);
    }
    const digest = definitionSha256(fields);
    if (digest === existing.definitionSha256) return { action: 'skip', scriptId: existing.id };
    return { action: 'new-version', scriptId: existing.id, fields, definitionSha256: digest };
  }

  /** Adds a script that was written, or its new version. */
  add(script: ScriptName): void {
    this.own.set(script.nameKey, script);
  }

  private create(fields: ScriptFields, finalName: string | null): EntryDecision {
    if (this.own.size >= this.maxScripts) {
      return { action: 'refuse', error: `The owner has ${this.maxScripts} scripts, the most that are allowed` };
    }
    return { action: 'create', fields, finalName };
  }

  /** Returns "Name (2)", or the next number that is free. */
  private freeName(name: string): string {
    for (let number = 2; ; number += 1) {
      const suffix = ` (${number})`;
      const candidate = name.slice(0, MAX_NAME - suffix.length).trimEnd() + suffix;
      const key = nameKey(candidate);
      if (!this.own.has(key) && !this.partnerWide.has(key)) return candidate;
    }
  }
}
