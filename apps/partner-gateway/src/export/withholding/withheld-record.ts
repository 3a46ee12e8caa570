import { type DetectionOptions, findSecretPaths } from './secret-detector.js';

/** Options of a resource for the decision whether a record leaves. */
export interface WithholdingOptions extends DetectionOptions {
  /** Most characters of top-level text fields. */
  maxCharacters?: Readonly<Record<string, number>>;
}

/** A record that is not exported, without any of its values. */
export interface WithheldRecord {
  resource: string;
  id: string;
  orgId: string;
  reason: 'secret_detected' | 'content_too_large';
  /** At most 20. */
  fieldPaths: string[];
}

/** Returns the entry of a record that must not leave, null for any other. */
export function findWithheld(
  { name, maxCharacters = {}, isMachineObserved }: WithholdingOptions & { name: string },
  record: { id: string; orgId: string },
): WithheldRecord | null {
  const { id, orgId } = record;
  const tooLarge = Object.entries(maxCharacters)
    .filter(([field, limit]) => lengthOf(record, field) > limit)
    .map(([field]) => field);
  if (tooLarge.length > 0) return { resource: name, id, orgId, reason: 'content_too_large', fieldPaths: tooLarge };
  const fieldPaths = findSecretPaths(record, { isMachineObserved });
  return fieldPaths.length > 0 ? { resource: name, id, orgId, reason: 'secret_detected', fieldPaths } : null;
}

function lengthOf(record: object, field: string): number {
  const value = (record as Readonly<Record<string, unknown>>)[field];
  return typeof value === 'string' ? value.length : 0;
}
