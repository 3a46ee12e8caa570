import { ValidationError } from '@rmm/service-kit';
import { mergeSettings } from '@rmm/validation';

type Settings = Record<string, unknown>;

/** The fields of a site's contract, as a request gives them. */
export interface SiteContract {
  contractStart?: Date | null;
  contractEnd?: Date | null;
  billingContact?: object | null;
}

const FIELDS = ['contractStart', 'contractEnd', 'billingContact'] as const;

/**
 * Merges settings of a site; null removes a key. The fields of the contract are kept in `settings.contract`.
 * @throws ValidationError  for `settings.contract`, for a contract that ends before it starts, and for more than 64 KB
 *   after the merge
 */
export function mergeSiteSettings(stored: Settings, changes: Settings | undefined, contract: SiteContract): Settings {
  if (changes && Object.hasOwn(changes, 'contract')) {
    throw ValidationError.forField('settings.contract', 'is set with contractStart, contractEnd and billingContact');
  }
  return mergeSettings(stored, { ...changes, ...mergeContract(Object(stored['contract']) as Settings, contract) });
}

function mergeContract(stored: Settings, given: SiteContract): Settings {
  if (FIELDS.every((field) => given[field] === undefined)) return {};
  const billing =
    given.billingContact &&
    mergeSettings(Object(stored['billingContact']) as Settings, withoutUndefined(given.billingContact));
  const changes = { ...given, billingContact: billing && Object.keys(billing).length === 0 ? null : billing };
  const merged = mergeSettings(stored, withoutUndefined(pick(changes)));
  const [start, end] = [merged['contractStart'], merged['contractEnd']];
  if (typeof start === 'string' && typeof end === 'string' && new Date(end) < new Date(start)) {
    throw ValidationError.forField('contractEnd', 'must not be before contractStart');
  }
  return { contract: Object.keys(merged).length === 0 ? null : merged };
}

const pick = ({ contractStart, contractEnd, billingContact }: SiteContract): Settings => ({
  contractStart: contractStart && contractStart.toISOString(),
  contractEnd: contractEnd && contractEnd.toISOString(),
  billingContact,
});

const withoutUndefined = (given: object): Settings =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
