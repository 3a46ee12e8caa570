import { z } from 'zod';

/** A UUID of any version. */
export const uuid = z.guid();
/** A moment as ISO 8601, with any offset and precision that PostgreSQL reads. */
export const timestamp = z.iso.datetime({ offset: true });
/** A SHA-256 digest in hexadecimal. */
export const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/i);
export const accessScope = z.enum(['system', 'partner', 'organization']);
