import {
  POSTURE_CATEGORIES,
  DETECTION_STATUSES,
  type DetectionStatus,
  type PostureCategory,
} from '../../devices/reports/device-posture-product.entity.js';
import { hashOf } from './inventory-report.js';
import { flag, json, list, object, quantity, readFields, required, text, time, word } from './reported-fields.js';

const MAX_PRODUCTS = 50;
const MAX_DETAILS_BYTES = 4_096;
const MAX_ERRORS_BYTES = 16_384;

const PRODUCTS = list(
  {
    name: required(text()),
    version: text(),
    status: required(word(DETECTION_STATUSES)),
    serviceName: text(),
    details: json(MAX_DETAILS_BYTES),
  },
  { max: MAX_PRODUCTS },
);

export const POSTURE = {
  collectedAt: required(time()),
  scanDurationMs: quantity({ max: 2_147_483_647 }),
  categories: required(
    object(Object.fromEntries(POSTURE_CATEGORIES.map((category) => [category, PRODUCTS])) as ProductsByCategory),
  ),
  identity: object({
    joinType: text(64),
    azureAdJoined: flag(),
    domainJoined: flag(),
    workplaceJoined: flag(),
    source: text(),
  }),
  errors: json(MAX_ERRORS_BYTES),
};
type ProductsByCategory = Record<PostureCategory, typeof PRODUCTS>;

export interface DetectedProduct {
  category: PostureCategory;
  name: string;
  version: string | null;
  status: DetectionStatus;
  serviceName: string | null;
  details: unknown;
}

/** A scan of a device for management tools. */
export interface PostureReport {
  collectedAt: Date;
  scanDurationMs: number | null;
  identity: object | null;
  errors: unknown;
  /** One for each category and name, of which a report that repeats one names the last. */
  products: DetectedProduct[];
  /** SHA-256 of what was found, without the time of the scan. */
  hash: Buffer;
}

/** Reads the body of a report; unknown categories are ignored. @throws ValidationError naming the first unreadable field */
export function readPosture(body: unknown): PostureReport {
  const { collectedAt, scanDurationMs, categories, identity = null, errors = null } = readFields(POSTURE, body);
  const products = new Map<string, DetectedProduct>();
  for (const category of POSTURE_CATEGORIES) {
    for (const { name, version = null, status, serviceName = null, details = null } of categories[category] ?? []) {
      products.set(`${category} ${name}`, { category, name, version, status, serviceName, details });
    }
  }
  const found = { identity, errors, products: [...products.values()] };
  const durationMs = scanDurationMs === undefined ? null : Math.round(scanDurationMs);
  return { collectedAt, scanDurationMs: durationMs, ...found, hash: hashOf(found) };
}
